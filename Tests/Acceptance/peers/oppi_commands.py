"""Session commands of the scripted Oppi server (oppi.md#client--server-frames)."""

import asyncio
import copy

from .oppi_session import Refused

LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh")


async def prompt(socket, activation, frame):
    activation.prompt(socket, frame["type"], frame)
    socket.result(frame, activation.id)


async def stop(socket, activation, frame):
    activation.stop()
    await outcome(activation)
    socket.result(frame, activation.id)


async def abort_retry(socket, activation, frame):
    if activation.run and activation.run.is_waiting_to_retry:
        activation.run.abort_retry()
        await outcome(activation)
    socket.result(frame, activation.id)


async def outcome(activation):
    """Sends the result, possibly behind everything that its command causes."""
    for _ in range(20):
        if not activation.is_busy:
            break
        await asyncio.sleep(0.001)


async def stop_session(socket, activation, frame):
    await activation.stop_session()
    socket.result(frame, activation.id)


async def get_state(socket, activation, frame):
    """Sends a `state` frame and no result, with or without a `requestId`."""
    socket.send({"type": "state", "session": copy.deepcopy(activation.session), "sessionId": activation.id})


async def get_messages(socket, activation, frame):
    trace = socket.server.disk.trace(activation.id)
    data = [{"role": event["type"], "content": [{"type": "text", "text": event["text"]}], "timestamp": socket.server.milliseconds()}
            for event in trace if event["type"] in ("user", "assistant")]
    socket.result(frame, activation.id, data=data)


async def get_session_stats(socket, activation, frame):
    tokens = {"cacheRead": 0, "cacheWrite": 0} | activation.session["tokens"]
    tokens["total"] = sum(tokens.values())
    socket.result(frame, activation.id, data={"tokens": tokens, "cost": activation.session["cost"]})


async def set_model(socket, activation, frame):
    name = f"{frame.get('provider')}/{frame.get('modelId')}"
    if name not in [model["id"] for model in socket.server.models]:
        raise Refused(f"Model not found: {name}")
    activation.session["model"] = name
    socket.result(frame, activation.id, data={"success": True, "provider": frame["provider"], "id": frame["modelId"], "name": name})
    activation.state(is_saved=True)


async def set_thinking_level(socket, activation, frame):
    if frame.get("level") not in LEVELS:
        raise Refused(f"Invalid thinking level: {frame.get('level')}")
    # The requested level: no answer and no state reports the level that the session's model applies.
    activation.session["thinkingLevel"] = frame["level"]
    socket.result(frame, activation.id, data={"level": frame["level"]})
    activation.state(is_saved=True)


async def set_session_name(socket, activation, frame):
    activation.session["name"] = frame.get("name")
    socket.result(frame, activation.id, data={"name": frame.get("name")})
    activation.state(is_saved=True)


async def models(socket, activation, frame):
    """Sends an empty list: clients read the models over REST."""
    socket.result(frame, activation.id, data=[])


async def compact(socket, activation, frame):
    activation.emit("compaction_start", reason="threshold" if socket.dialect.is_seed else "manual")
    await socket.clock.sleep(0.02)
    activation.emit("compaction_end", aborted=False, willRetry=False)
    socket.result(frame, activation.id)


async def get_commands(socket, activation, frame):
    if socket.dialect.is_seed:
        raise Refused("Unhandled SDK command: get_commands")
    socket.result(frame, activation.id, data={"commands": []})


async def get_fork_messages(socket, activation, frame):
    if socket.dialect.is_seed:
        raise Refused("get_fork_messages is not supported")
    socket.error("get_fork_messages is not supported", activation.id)


async def dialog(socket, activation, frame):
    if not activation.answer_dialog(frame):
        socket.error(f"UI request not found: {frame.get('id')}", activation.id)


async def get_queue(socket, activation, frame):
    queue = activation.queue_value()
    socket.send({"type": "queue_state", "queue": queue, "sessionId": activation.id})
    socket.result(frame, activation.id, data=queue)


async def set_queue(socket, activation, frame):
    """Replaces the queue. At rest the agent accepts an empty one only."""
    if frame.get("baseVersion") != activation.queue_version:
        raise Refused(f"Queue version mismatch: expected {activation.queue_version}, got {frame.get('baseVersion')}")
    if not activation.is_streaming and (frame.get("steering") or frame.get("followUp")):
        raise Refused("Message queue can only contain items while a turn is streaming")
    wanted = {item.get("id") for kind in ("steering", "followUp") for item in frame.get(kind) or []}
    activation.queue = [entry for entry in activation.queue if entry[2]["id"] in wanted]
    activation.queue_changed()
    socket.result(frame, activation.id, data=activation.queue_value())


async def accept(socket, activation, frame):
    """Accepts commands whose effects a connector cannot see."""
    socket.result(frame, activation.id)


COMMANDS = {
    "prompt": prompt, "steer": prompt, "follow_up": prompt, "stop": stop, "abort": stop, "stop_session": stop_session,
    "get_state": get_state, "get_messages": get_messages, "get_session_stats": get_session_stats, "set_model": set_model,
    "get_available_models": models, "set_thinking_level": set_thinking_level, "set_session_name": set_session_name,
    "compact": compact, "get_commands": get_commands, "get_fork_messages": get_fork_messages, "get_queue": get_queue,
    "set_queue": set_queue,
    "extension_ui_response": dialog, "cycle_model": accept, "cycle_thinking_level": accept, "new_session": accept,
    "set_auto_compaction": accept, "set_auto_retry": accept, "fork": accept, "switch_session": accept,
    "set_steering_mode": accept, "set_follow_up_mode": accept, "abort_retry": abort_retry, "abort_bash": accept,
}
