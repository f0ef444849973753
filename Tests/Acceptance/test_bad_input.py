"""Frames that no peer should send, and a full disk."""

import os
import shutil
import struct
import subprocess
import tempfile
import unittest

from harness import Stage, until
from peers.steps import Broadcast, Hold, Say
from scheduling import Scenarios, scenario
from stories import words


def text_frame(data, opcode=1, fin=True):
    head = bytes([(0x80 if fin else 0) | opcode])
    size = len(data)
    head += bytes([size]) if size < 126 else bytes([126]) + struct.pack(">H", size) if size < 65536 else (
        bytes([127]) + struct.pack(">Q", size))
    return head + data


class BadInputTests(Scenarios):
    @scenario(60)
    async def test_odd_frames_of_the_gateway_disturb_no_run(self):
        async with Stage("E4") as stage:
            odd = [Broadcast("something.new", {"a": [1, None, "x"]}), Broadcast("agent", {"stream": "dreams", "data": 7}),
                   Broadcast("chat", {"state": "delta"}), Broadcast("chat", {"state": "sung", "runId": "x", "sessionKey": "y"}),
                   Broadcast("agent", {"runId": 7, "stream": None, "data": "text", "seq": "one"}),
                   Broadcast("exec.approval.requested", {"id": None}), Broadcast("exec.approval.requested", [])]
            turn = stage.ask("odd", Say(words("before")), *odd, Hold("raw"), Say(words("after")))
            await stage.streaming(turn)
            for text in ("not JSON", "[]", "7", '{"type":"event"}', '{"type":"res","id":"nobody","ok":true}', "{", "",
                         '{"type":"event","event":"' + "x" * 100_000 + '","payload":{}}', "[" * 5000):
                stage.gateway.send_text(text)
            stage.gateway.release("raw")
            await stage.ended(turn)
            stage.expect(turn, "".join(words("before") + words("after")).strip())
            self.assertEqual(len(stage.gateway.connects), 1)
            stage.check(turn)

    async def raw(self, *frames):
        async with Stage("E3") as stage:
            turn = stage.ask("raw", Say(words("before")), Hold("raw"), Say(words("after")))
            await stage.streaming(turn)
            for frame in frames:
                stage.gateway.send_raw(frame)
            await stage.link_up(30, since=1)
            stage.gateway.release("raw")
            await stage.ended(turn, seconds=30)
            stage.expect(turn, "".join(words("before") + words("after")).strip())
            stage.check(turn)

    @scenario(60)
    async def test_text_that_is_not_UTF_8_ends_the_link_and_no_run(self):
        await self.raw(text_frame(b'{"type":"event","event":"\xff\xfe"}'))

    @scenario(60)
    async def test_a_frame_with_reserved_bits_ends_the_link_and_no_run(self):
        await self.raw(b"\xf1\x02{}")

    @scenario(60)
    async def test_a_frame_that_announces_a_terabyte_ends_the_link_and_no_run(self):
        await self.raw(bytes([0x81, 127]) + struct.pack(">Q", 1 << 40) + b"x" * 1000)

    @scenario(60)
    async def test_a_message_in_many_fragments_with_a_ping_between_arrives(self):
        async with Stage("E3") as stage:
            data = b'{"type":"event","event":"tick","payload":{"ts":1,"filler":"' + b"f" * 3_000_000 + b'"}}'
            pieces = [data[at:at + 500_000] for at in range(0, len(data), 500_000)]
            for number, piece in enumerate(pieces):
                stage.gateway.send_raw(text_frame(piece, 1 if number == 0 else 0, number == len(pieces) - 1))
                stage.gateway.send_raw(text_frame(b"", 9))
            connection = stage.gateway.connections[0]
            # One pong may answer several pings (RFC 6455, 5.5.3).
            await until(lambda: connection.socket.pongs, 30, "a pong")
            turn = stage.ask("after", Say(["Whole."]))
            await stage.ended(turn)
            self.assertEqual(len(stage.gateway.connects), 1)
            stage.check(turn)

    @scenario(60)
    async def test_odd_frames_and_updates_of_the_relay_are_survived_and_acknowledged(self):
        async with Stage("E3") as stage:
            for text in ("not JSON", "[]", '{"type":"dance"}', '{"type":"update"}', '{"type":"update","update":{}}',
                         '{"type":"update","update":{"update_id":7,"type":"session.message","payload":"x"}}', "{"):
                for socket in stage.relay.sockets:
                    socket.send(text)
            stage.relay.push("weather.changed", {"sun": True})
            stage.relay.push("session.message", {"message": {"id": "msg_1"}}, stage.relay.new_session(), "int_unknown")
            for socket in stage.relay.sockets:
                socket.send({"req_id": "r1", "type": "something_unknown", "payload": {}})
            await until(lambda: stage.relay.rpc_answers, 30, "an answer to the request")
            self.assertIn("unknown_request", str(stage.relay.rpc_answers[0]))
            turn = stage.ask("after", Say(["Still here."]))
            await stage.ended(turn)
            stage.expect(turn, "Still here.")
            self.assertEqual(stage.relay.sockets_made, 1)

    @scenario(90)
    async def test_a_full_disk_is_told_and_recovered_from(self):
        directory = tempfile.mkdtemp(prefix="bridge-small-disk-")
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", directory], capture_output=True)
        if mounted.returncode:
            shutil.rmtree(directory)
            self.skipTest("no file system can be mounted here")
        try:
            state = os.path.join(directory, "state")
            async with Stage("E3", environment={"SOPHON_STATE_DIR": state}) as stage:
                running = stage.ask("running", Say(words("before")), Hold("full"), Say(words("after")))
                await stage.streaming(running)
                filler = os.path.join(directory, "filler")
                with open(filler, "wb", buffering=0) as file:
                    for size in (65536, 4096, 1):
                        try:
                            while True:
                                file.write(b"x" * size)
                        except OSError:
                            pass
                refused = stage.ask("refused for now", Say(["With room again."]))
                stage.gateway.release("full")
                await until(lambda: stage.phone.loose_messages(refused.session), 20, "a word about the full disk in the chat")
                await until(lambda: "disk is full" in "".join(stage.bridge.stderr), 30, "a word about the disk in the log")
                self.assertIsNone(stage.bridge.process.returncode)
                os.remove(filler)
                await stage.ended(running, refused, seconds=40)
                stage.expect(running, "".join(words("before") + words("after")).strip())
                stage.expect(refused, "With room again.")
                stage.check(running, refused)
        finally:
            subprocess.run(["umount", directory], check=True)
            os.rmdir(directory)


if __name__ == "__main__":
    unittest.main()
