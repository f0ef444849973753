"""A program of ToyChildren: it says the words of its prompts one by one, and keeps a transcript in the folder that it is given.
`toy_children.py FOLDER [--session ID | --version | --models]`. Ends when standard input does."""

import json
import os
import sys

folder, *arguments = sys.argv[1:]
if arguments == ["--version"]:
    sys.exit(print("python"))
if arguments == ["--models"]:
    sys.exit(print("small\nlarge"))


def say(**members):
    print(json.dumps({"type": "toy-child"} | members), flush=True)


session = arguments[1] if arguments else f"native-{os.getpid()}"
transcript = f"{folder}/{session}.jsonl"
say(**{"is": "ready"}, session=session)
for line in sys.stdin:
    frame = json.loads(line)
    run = frame["id"]
    match frame["do"]:
        case "prompt":
            if frame["text"] == "die":
                os.abort()
            for word in frame["text"].split():
                say(**{"is": "text"}, run=run, text=word + " ")
            text = " ".join(frame["text"].split())
            with open(transcript, "a") as file:
                print(json.dumps([run, text]), file=file)
            say(**{"is": "end"}, run=run, text=text, state="over")
        case "look":
            known = {}
            if os.path.exists(transcript):
                with open(transcript) as file:
                    known = dict(json.loads(line) for line in file)
            say(**{"is": "found"}, run=run, text=known.get(run, ""), state="over" if run in known else "unknown")
