#!/usr/bin/env bash
# Pushes a document, waits until it is scored, and prints its best context. Wants curl, SLUICE_URL and SLUICE_API_KEY.
set -euo pipefail
auth="Authorization: Bearer $SLUICE_API_KEY"

curl -sS --fail-with-body -X POST "$SLUICE_URL/v1/documents" -H "$auth" -H "Content-Type: application/json" \
  -d '{"id": "from-curl", "query": "how long to boil an egg", "contexts": ["Eggs are laid by hens.", "Boil an egg for six minutes."]}' >&2

until curl -sS -f "$SLUICE_URL/v1/collections/default/documents/from-curl?top_k=1&include=text" -H "$auth" 2>/dev/null |
  grep '"status":"succeeded"'; do
  sleep 1
done
