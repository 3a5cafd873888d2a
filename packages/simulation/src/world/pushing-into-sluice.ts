import { nameDocument, type SubmissionId } from "@sluice/core";
import { versionKey } from "../checks/state.ts";
import type { Invocation } from "./invocation.ts";
import type { Push } from "./pushes.ts";
import { Pushing } from "./pushing.ts";
import { answerOf, dependenciesOf, type Answer } from "./requests.ts";
import type { Stack } from "./stack.ts";
import type { World } from "./world.ts";
import { handlerOf } from "./handlers.ts";

const postDocuments = handlerOf("pushDocuments");

/** Pushes through Sluice's own handler, with what its answers must say. The world learns whose each submission is. */
export function pushingIntoSluice(world: World, stack: Stack): Pushing {
  const pushing = new Pushing(world, {
    post: async (by, call) => answerOf(await postDocuments(dependenciesOf(world, stack, by), call)),
    accepted: (push, answer) => checkAccepted(world, push, answer),
  });
  world.onSubmission = (id, by) => learn(world, pushing, id as SubmissionId, by);
  return pushing;
}

function checkAccepted(world: World, push: Push, { body }: Answer): void {
  const { id } = body["submission"] as { id: string };
  if (id !== push.submission) world.fail(`a push into ${push.submission} was answered with ${id}`);
  if (body["accepted"] !== push.documents.length)
    world.fail(`a push of ${push.documents.length} was answered as ${String(body["accepted"])}`);
  const rejected = JSON.stringify((body["rejected"] as { line: number }[]).map(({ line }) => line));
  if (body["rejected_count"] !== push.rejected.length || rejected !== JSON.stringify(push.rejected))
    world.fail(`a push with lines ${push.rejected.join()} to refuse was answered with ${rejected}`);
}

/** A submission's row is in D1: from here on its documents have keys. */
function learn(world: World, pushing: Pushing, id: SubmissionId, by: Invocation): void {
  const push = pushing.pushOf(by);
  if (by.opened !== null) {
    return world.fail(`${by.name} opened ${by.opened}, and then ${id} for the same push`);
  }
  by.opened = id;
  if (push === undefined) return world.fail(`${by.name} opened a submission that nobody pushed`);
  if (push.submission !== null && push.isKeyed)
    return world.fail(`${by.name} opened a second submission under one key`);
  push.submission = id;
  for (const document of push.documents) {
    world.contents.set(versionKey(id, document.id ?? nameDocument(id, document.index)), document);
  }
}
