#!/usr/bin/env bash
# Pushes a document, waits until it has ended, and prints it with its best context. Needs curl, SLUICE_URL and SLUICE_API_KEY.
set -euo pipefail
auth="Authorization: Bearer $SLUICE_API_KEY"
get() { curl -sS --fail-with-body "$SLUICE_URL$1" -H "$auth"; }

pushed=$(curl -sS --fail-with-body -X POST "$SLUICE_URL/v1/documents" -H "$auth" -H "Content-Type: application/json" \
  -d '{"id": "from-curl", "query": "how long to boil an egg", "contexts": ["Eggs are laid by hens.", "Boil an egg for six minutes."]}')
[[ $pushed =~ sub_[0-9a-f-]+ ]]
submission=${BASH_REMATCH[0]}
echo "pushed as $submission" >&2

until [[ $(get "/v1/submissions/$submission") =~ \"status\":\"(completed|canceled)\" ]]; do sleep 1; done

# Only the document of this push. A failed one has its reason in "error".
results=$(get "/v1/submissions/$submission/results?top_k=1&include=text")
document=${results#*\[}
document=${document%\]*}
echo "$document"
[[ $document == *'"status":"succeeded"'* ]]
