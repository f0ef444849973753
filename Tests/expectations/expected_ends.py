#!/usr/bin/env python3
"""Works out, from the traces and the protocol sheets alone, how each recorded run must end on the phone.

Shares no code with the bridge. Writes ends.json beside this file; `--check` compares instead. Each entry was read by hand.

Kinds: answered, aborted, failed, lost (the run was cut off; the bubble ends with what is known and a sentence).
`text` is the agent's own text that the bubble must begin with; for `answered` and `aborted` it is all of it.
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
TRACES = HERE.parent / "Fixtures" / "traces"


def frames(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        yield record["dir"], record["frame"]


def blocks(content):
    if isinstance(content, str):
        return content
    return "".join(b["text"] for b in content or [] if b.get("type") == "text")


def openclaw(path):
    """The messages that `assistant` has, trimmed, a paragraph each; of a run without them what `chat` has. chat says how it ended
    (DESIGN.md#the-turn-machine). A follow-up run is named after its approval (relay.md#tool-calls)."""
    order, runs, prompts, messages = [], {}, {}, {}
    between = set()
    for direction, frame in frames(path):
        if direction == "out" and frame.get("method") == "chat.send":
            run = frame["params"]["idempotencyKey"]
            order.append(run)
            prompts[run] = frame["params"]["message"]
            runs[run] = {"text": "", "kind": "lost", "why": "the recording ends before the run does"}
        if frame.get("event") == "agent":
            run, stream, data = (frame["payload"][key] for key in ("runId", "stream", "data"))
            if stream == "lifecycle" and data["phase"] == "start" and run in runs:
                runs[run]["text"], messages[run] = "", []  # a new attempt: nothing of the failed one counts
            elif stream in ("tool", "item") and data.get("phase") == "start":
                between.add(run)
            elif stream == "assistant":
                said = messages.setdefault(run, [])
                if said and run not in between and data["text"].startswith(said[-1]):
                    said.pop()
                between.discard(run)
                said.append(data["text"])
        if frame.get("event") != "chat":
            continue
        payload = frame["payload"]
        run, state = payload["runId"], payload["state"]
        owner = run
        if run.startswith("exec-approval-followup:"):
            owner = order[-1]
        entry = runs.setdefault(owner, {"text": "", "kind": "lost", "why": ""})
        message = payload.get("message")
        spoken = joined([text.strip() for text in messages.get(run, [])])
        if state == "delta" and owner == run:
            if message is not None:
                entry["text"] = blocks(message["content"])
            elif payload.get("replace"):
                entry["text"] = payload["deltaText"]
            else:
                entry["text"] += payload["deltaText"]
        elif state == "final":
            text = spoken or (blocks(message["content"]) if message else entry["text"])
            entry["text"] = text if owner == run else entry["text"] + "\n\n" + text
            entry["kind"], entry["why"] = "answered", "chat final" if owner == run else "chat final, then the follow-up's"
        elif state == "aborted":
            entry["text"] = spoken or (blocks(message["content"]) if message else entry["text"])
            entry["kind"], entry["why"] = "aborted", "chat aborted carries the partial text"
        elif state == "error":
            entry["kind"], entry["why"] = "failed", "chat error; only the last attempt's text counts"
    return [dict(prompt=prompts.get(run), **runs[run]) for run in order]


def joined(texts):
    return "\n\n".join(t for t in texts if t)


def oppi(path):
    """All assistant message_end of the run, joined by a blank line (DESIGN.md#the-turn-machine); the deltas are only a preview (relay.md#sse-events)."""
    ends, prompt, texts, open_ = [], None, [], False
    for direction, frame in frames(path):
        kind = frame.get("type")
        if direction == "out" and kind == "prompt":
            prompt = frame["message"]
        elif kind == "agent_start":
            open_, texts = True, []
        elif kind == "message_end" and frame["role"] == "assistant":
            texts.append(frame["content"])
        elif kind == "agent_end" and open_:
            ends.append(dict(prompt=prompt, kind="answered", text=joined(texts), why="assistant message_end until agent_end"))
            open_, prompt = False, None
    if open_:
        ends.append(dict(prompt=prompt, kind="lost", text=joined(texts), why="the recording ends before the run does"))
    return ends


def question(frame):
    """A dialog with more than yes or no, as the bubble shows it (DESIGN.md#questions); None: it is a card, or a notice."""
    kind, options = frame["method"], frame.get("options", [])
    no = {"block", "deny", "no", "cancel", "reject", ""}
    is_card = len(options) <= 2 and sum(option.lower() not in no for option in options) == 1
    if kind not in ("select", "input", "editor") or (kind == "select" and is_card):
        return None
    quoted = "\n".join("> " + line for line in frame.get("prefill", "").split("\n"))
    parts = [frame["title"], frame.get("prefill") and f"The text so far:\n\n{quoted}",
             frame.get("placeholder") and f"For example: {frame['placeholder']}",
             "\n".join(f"{number}. {option}" for number, option in enumerate(options, 1)),
             ("Reply with the number of one option" if options else "Reply with your text") + ". /skip declines."]
    return joined(parts)


def pi(path):
    """message_end is authoritative (relay.md#sendmessageend); a retry drops the attempt; a killed process leaves what was streamed (10)."""
    ends, prompt, texts, preview, open_, exited = [], None, [], "", False, False
    waiting = []  # Questions are asked one after the other.
    for direction, frame in frames(path):
        kind = frame.get("type")
        if direction == "out" and kind == "prompt":
            prompt = frame["message"]
        elif frame.get("_proc") == "exit" and open_:
            exited = True
        elif kind == "agent_start":
            if ends and ends[-1]["kind"] == "retrying":
                ends.pop()
            open_, texts, preview = True, [], ""
        elif kind == "message_update":
            event = frame["assistantMessageEvent"]
            preview += event["delta"] if event["type"] == "text_delta" else ""
        elif kind == "message_end" and frame["message"]["role"] == "assistant":
            texts.append(blocks(frame["message"]["content"]))
            preview = ""
        elif kind == "extension_ui_request" and (asked := question(frame)):
            waiting.append((frame["id"], asked))
            if len(waiting) == 1:
                texts.append(asked)
        elif kind == "extension_ui_response" and waiting and waiting[0][0] == frame["id"]:
            line = f"Answered: {frame['value']}" if "value" in frame else "The question was declined."
            ends.append(dict(prompt=frame.get("value", "/skip"), kind="answered", text=line, why="the chat's next message answers"))
            texts.append(line)
            waiting.pop(0)
            if waiting:
                texts.append(waiting[0][1])
        elif kind == "agent_end":
            ends.append(dict(prompt=prompt, kind="answered", text=joined(texts), why="assistant message_end until agent_end"))
            open_ = False
        elif kind == "auto_retry_start":
            ends[-1]["kind"] = "retrying"
    if open_:
        why = "the process was killed, and its file does not hold the answer" if exited else "the recording ends"
        ends.append(dict(prompt=prompt, kind="lost", text=joined(texts + [preview]), why=why))
    return ends


def codex_question(asked):
    """A question as the bubble shows it (DESIGN.md#questions); Codex takes own words where it says so."""
    options = "\n".join(f"{number}. {option['label']}: {option['description']}"
                        for number, option in enumerate(asked["options"], 1))
    ways = "Reply with the number of one option" + (", or in your own words" if asked["isOther"] else "")
    return joined([asked["header"], asked["question"], options, f"{ways}. /skip declines."])


def codex(path):
    """item/completed is a message's text, turn/completed its end (codex.md#a-turn); a broken or steered message leaves no trace; what was
    streamed of an interrupted one is all there is; a turn in progress goes on without its client, not without its server."""
    runs, prompts, turns, asked, questions, threads = [], {}, {}, {}, {}, set()

    def prompt(text):
        run = dict(prompt=text, kind="lost", why="the recording ends before the turn does", said=[], open="")
        runs.append(run)
        return run

    for direction, frame in frames(path):
        method, params, number = frame.get("method"), frame.get("params", {}), frame.get("id")
        turn = turns.get((params.get("threadId"), params.get("turnId")))
        if direction == "out" and frame.get("_ws") == "open":
            prompts = {}
        elif direction == "out" and method == "turn/start":
            prompts[number] = prompt(params["input"][0]["text"]), params["threadId"]
            threads.add(params["threadId"])
        elif direction == "out" and method == "thread/turns/list":
            asked[number] = params["threadId"]
        elif direction == "out" and number in questions and "result" in frame:
            run, names = questions.pop(number)
            for name in names:
                answer = frame["result"]["answers"][name]["answers"][0]
                line = f"Answered: {answer}"
                runs.append(dict(prompt=answer, kind="answered", why="the chat's next message answers", said=[line], open=""))
                run["said"].append(line)
        elif direction == "in" and "result" in frame and number in prompts:
            run, thread = prompts.pop(number)
            turns[(thread, frame["result"]["turn"]["id"])] = run
        elif direction == "in" and "result" in frame and number in asked:
            thread = asked.pop(number)
            for listed in frame["result"]["data"]:
                run = turns.get((thread, listed["id"]))
                if run and run["kind"] == "lost" and listed["status"] != "inProgress":
                    known = [item["text"] for item in listed["items"] if item["type"] == "agentMessage"]
                    if listed["status"] == "completed":
                        run["said"] += [text for text in known if text not in run["said"]]
                        run.update(kind="answered", open="", why="it had ended when its client was back")
                    elif listed["completedAt"] is None and "killed" in run:
                        run["why"] = "its server was killed"
        elif direction == "in" and frame.get("_proc") == "exit":
            for run in turns.values():
                run["killed"] = True
        elif direction == "in" and number is not None and method == "item/tool/requestUserInput":
            names = [one["id"] for one in params["questions"]]
            questions[number] = turn, names
            turn["said"] += [codex_question(one) for one in params["questions"]]
        elif direction == "in" and method == "turn/started" and params["threadId"] in threads:
            # A turn that continues a goal has no message of ours.
            key = params["threadId"], params["turn"]["id"]
            turns[key] = turns.get(key) or prompt(None)
        elif turn is None or direction == "out":
            continue
        elif method == "item/agentMessage/delta":
            turn["open"] += params["delta"]
        elif method == "item/started" and params["item"]["type"] == "agentMessage":
            turn["open"] = ""
        elif method == "item/completed" and params["item"]["type"] == "agentMessage":
            turn["said"].append(params["item"]["text"])
            turn["open"] = ""
        elif method == "error" and params["willRetry"]:
            turn["open"] = ""
        # A turn that has ended no longer changes.
    return codex_ends(path, runs, turns)


def codex_ends(path, runs, turns):
    for direction, frame in frames(path):
        if frame.get("method") != "turn/completed":
            continue
        ended = frame["params"]["turn"]
        run = turns.get((frame["params"]["threadId"], ended["id"]))
        kind = {"completed": "answered", "interrupted": "aborted", "failed": "failed"}[ended["status"]]
        if run:
            run.update(kind=kind, why=f"turn/completed {ended['status']}")
    ends = []
    for run in runs:
        streamed = [] if run["kind"] == "answered" else [run["open"]]
        ends.append(dict(prompt=run["prompt"], kind=run["kind"], text=joined(run["said"] + streamed), why=run["why"]))
    return ends


def claude(path):
    """The text blocks of `assistant` frames on the main thread; `result` says how it ended (claude-code.md#text,
    claude-code.md#the-end-of-a-turn)."""
    asked, ends, run, open_ = {}, [], None, {}
    for direction, frame in frames(path):
        kind, subtype = frame.get("type"), frame.get("subtype")
        if direction == "out":
            if kind == "user":
                asked[frame["uuid"]] = frame["message"]["content"]
            elif kind == "control_response" and frame["response"]["request_id"] in open_:
                for one in open_.pop(frame["response"]["request_id"]):
                    answer = frame["response"]["response"]["updatedInput"]["answers"][one["question"]]
                    claude_run(ends, answer).update(kind="answered", text=f"Answered: {answer}", why="the chat's next message answers")
                    run["said"].append(f"Answered: {answer}")
            continue
        if kind == "command_lifecycle" and frame["command_uuid"] in asked:
            state, text = frame["state"], asked[frame["command_uuid"]]
            if state != "queued":
                del asked[frame["command_uuid"]]
            if state == "started" and run is None:
                run = claude_run(ends, text)
            elif state == "completed":
                claude_run(ends, text).update(kind="answered", text=NO_RUN, why="it was answered before")
        elif kind == "system" and subtype == "init" and run is None:
            run = claude_run(ends, None)
        elif run is None or frame.get("parent_tool_use_id"):
            continue
        elif kind == "assistant" and not frame.get("is_api_error_message"):
            claude_block(run, frame["message"])
        elif kind == "stream_event":
            claude_event(run, frame["event"])
        elif kind == "user" and "cut off" in blocks(frame["message"]["content"]) and frame.get("isSynthetic"):
            run["joins"] = True
        elif kind == "control_request" and frame["request"].get("tool_name") == "AskUserQuestion":
            open_[frame["request_id"]] = frame["request"]["input"]["questions"]
            run["said"] += [codex_question(one | {"isOther": True}) for one in open_[frame["request_id"]]]
        elif subtype == "api_retry" and frame["error_status"] in (401, 403) and run["kind"] == "lost":
            run.update(kind="failed", why="a login that is refused fails at once")
        elif frame.get("_proc") == "exit":
            run["why"] = "its process was killed"
            run = None
        elif kind == "result":
            claude_result(run, frame)
            run = None
    return [
        dict(prompt=one["prompt"], kind=one["kind"], text=one.get("text") or joined(one["said"] + [one["open"]]), why=one["why"])
        for one in ends
    ]


NO_RUN = "The agent took this as a command. There is nothing more to show."


def claude_run(ends, prompt):
    ends.append(dict(prompt=prompt, kind="lost", said=[], open="", message=None, joins=False, why="the recording ends before the run does"))
    return ends[-1]


def claude_event(run, event):
    if event["type"] == "content_block_delta":
        run["open"] += event["delta"].get("text", "")
    elif event["type"] == "message_stop":
        run["open"] = ""


def claude_block(run, message):
    block = message["content"][0]
    if block["type"] != "text" or message["model"] == "<synthetic>":
        run["message"] = None
        return
    if run["joins"] or (run["message"] and run["message"] == message["id"]):
        run["said"][-1] += block["text"]
    else:
        run["said"].append(block["text"])
    run.update(open="", joins=False, message=message["id"])


def claude_result(run, frame):
    if run["kind"] == "failed":
        return
    reason = frame.get("terminal_reason") or ""
    if reason.startswith("aborted"):
        run.update(kind="aborted", why=f"terminal_reason {reason}")
    elif frame["is_error"]:
        run.update(kind="failed", why=f"api_error_status {frame['api_error_status']}")
    else:
        run.update(kind="answered", why="result success")
        if not run["said"] and frame["result"]:
            run["said"] = [frame["result"]]
        if not run["said"]:
            run.update(kind="lost", why="a command said nothing, and a recording cannot be asked what it did")


def main():
    readers = {"openclaw": openclaw, "oppi": oppi, "pi": pi, "codex": codex, "claude": claude}
    ends = {p.name: readers[p.name.split("-")[0]](p) for p in sorted(TRACES.glob("*.jsonl"))}
    text = json.dumps(ends, indent=1, ensure_ascii=False) + "\n"
    target = HERE / "ends.json"
    if "--check" in sys.argv:
        if target.read_text(encoding="utf-8") != text:
            sys.exit("ends.json is not what the traces say; run expected_ends.py")
        print(f"{len(ends)} traces agree with ends.json")
    else:
        target.write_text(text, encoding="utf-8")
        print(f"wrote {len(ends)} traces to {target.name}")


if __name__ == "__main__":
    main()
