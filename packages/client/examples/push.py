"""Pushes a list of documents and prints each document's best context, using only Python's standard library.

Needs SLUICE_URL and SLUICE_API_KEY.
"""

import json
import os
import sys
import time
import urllib.request

URL = os.environ.get("SLUICE_URL", "http://127.0.0.1:8787")
KEY = os.environ["SLUICE_API_KEY"]

DOCUMENTS = [
    {"id": "py-egg", "query": "how long to boil an egg", "contexts": ["Hens lay eggs.", "Boil an egg for six minutes."]},
    {"id": "py-bike", "query": "my bicycle chain slips", "contexts": ["A worn chain slips.", "Bicycles have two wheels."]},
]


def call(path, body=None, content_type="application/json"):
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": content_type}
    request = urllib.request.Request(URL + path, data=body, headers=headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


lines = "\n".join(json.dumps(document) for document in DOCUMENTS).encode()
submission = call("/v1/documents", lines, "application/x-ndjson")["submission"]
while call(f"/v1/submissions/{submission['id']}")["status"] not in ("completed", "canceled"):
    time.sleep(0.2)
failed = False
for document in call(f"/v1/submissions/{submission['id']}/results?top_k=1&include=text")["data"]:
    if document["status"] == "succeeded":
        best = document["scores"][0]
        print(f"{document['id']}\t{best['score']:.3f}\t{best['text']}")
    else:
        failed = True
        error = document["error"] or {"code": document["status"], "message": "it was not scored"}
        print(f"{document['id']}\t{error['code']}\t{error['message']}", file=sys.stderr)
sys.exit(1 if failed else 0)
