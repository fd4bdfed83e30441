"""The official client, as an application would use it.

One command per line on stdin, one answer per line on stdout, both JSON; what fails is an answer too.
"""

import json
import sys

from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext


def connect(command):
    headers = command["headers"]
    api.set_provider(OFREPProvider(command["edge"], headers_factory=lambda: headers))


def ask(command):
    attributes = dict(command["context"])
    context = EvaluationContext(attributes.pop("targetingKey", None), attributes)
    client = api.get_client()
    details = getattr(client, f"get_{command['type']}_details")
    found = details(command["flag"], command["fallback"], context)
    return {
        "value": found.value,
        "variant": found.variant,
        "reason": found.reason,
        "error": found.error_code,
        "message": found.error_message,
        "metadata": found.flag_metadata,
    }


HANDLERS = {"connect": connect, "ask": ask}

for line in sys.stdin:
    command = json.loads(line)
    try:
        answer = {"answer": HANDLERS[command["do"]](command)}
    except Exception as error:
        answer = {"failed": repr(error)}
    print(json.dumps(answer), flush=True)
