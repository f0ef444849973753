"""A program of LeastDialect: it repeats its prompts word by word, and keeps a transcript in the given folder. `least.py FOLDER [SESSION]`.
Ends with standard input."""

import json
import os
import sys

folder, *given = sys.argv[1:]
session = given[0] if given else f"{folder}/{os.getpid()}"


def say(**members):
    print(json.dumps({"type": "least"} | members), flush=True)


for line in sys.stdin:
    request, verb, *rest = line.rstrip("\n").split(" ", 3)
    match verb:
        case "hello":
            say(answer=request, session=session)
        case "prompt":
            run, prompt = rest
            if prompt == "die":
                os.abort()
            say(answer=request, took=run, began=run)
            for word in prompt.split():
                say(run=run, says=word + " ")
            text = " ".join(prompt.split())
            with open(session, "a") as file:
                print(json.dumps([run, text]), file=file)
            say(ended=run, text=text)
        case "find":
            known = {}
            if os.path.exists(session):
                with open(session) as file:
                    known = dict(json.loads(line) for line in file)
            found = "ended" if rest[0] in known else ""
            say(answer=request, found=found, text=known.get(rest[0], ""))
