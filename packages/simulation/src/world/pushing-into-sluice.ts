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

/**
 * Pushes through Sluice's handler and checks its answers. Reports to the world which push each submission belongs to.
 */
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
  if (id !== push.submission) world.fail(`the answer to a push into ${push.submission} names ${id}`);
  if (body["accepted"] !== push.documents.length)
    world.fail(`the answer to a push of ${push.documents.length} documents reports ${String(body["accepted"])}`);
  const rejected = JSON.stringify((body["rejected"] as { line: number }[]).map(({ line }) => line));
  if (body["rejected_count"] !== push.rejected.length || rejected !== JSON.stringify(push.rejected))
    world.fail(`a push must have lines ${push.rejected.join()} rejected, but has ${rejected}`);
}

/** Registers a submission whose row is in D1: its documents now have keys. */
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
