"""Input that no client should send, on bare sockets to the real simulator: answered as documented or closed, with bounded memory."""

import asyncio
import json
import unittest

from peers.raw import Raw, ask, close_code, frame, next_frame, request, upgraded
from scheduling import scenario
from test_simulator_errors import SimulatorScenarios, served

MEMORY = 200


class BadRequestTests(SimulatorScenarios):
    @scenario(60)
    @served()
    async def test_bodies_over_the_limit_with_and_without_a_length(self):
        token, port = self.relay.token, self.relay.port
        for announced in (1_100_001, 5_000_000, 10 ** 12, 10 ** 30):
            async with Raw(port) as raw:
                await raw.send(request("POST", "/v1/bridge/sendMessage", token, b"{", (f"Content-Length: {announced}",)))
                if announced > 4_400_000:
                    answer = await raw.answer()
                    self.assertEqual(answer.status, 413)
                    # The HTTP library itself refuses a number that fits no integer.
                    if announced < 10 ** 18:
                        self.assertEqual(json.loads(answer.body)["error"]["code"], "payload_too_large")
                    await raw.end()
        async with Raw(port) as raw:
            await raw.send(request("POST", "/v1/bridge/sendMessage", token, b"", ("Transfer-Encoding: chunked",)))
            chunk = b"20000\r\n" + b"x" * 0x20000 + b"\r\n"
            for _ in range(10):
                await raw.send(chunk)
            await raw.send(b"0\r\n\r\n")
            answer = await raw.answer()
            self.check(answer, 413, "payload_too_large", rate=False)
        async with Raw(port) as raw:
            await raw.send(request("POST", "/v1/bridge/sendMessage", token, b"", ("Transfer-Encoding: chunked",)))
            for _ in range(2_000):
                await raw.send(chunk)
                if raw.reader.at_eof() or raw.writer.is_closing():
                    break
            await raw.end()
        self.assertLess(self.relay.memory("VmHWM"), MEMORY)

    @scenario(60)
    @served("--fault", "slow:3")
    async def test_bodies_that_are_no_JSON_or_deeper_than_anybody_needs(self):
        for body in (b"", b"{", b"nothing", b"\xff\xfe", b'{"a":1}x', b'{"a":1,"a":2}', b'"\\ud800"', b"[" * 100_000,
                     b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000, b"\0" * 1000,
                     b'{"session_id":"' + b"\\u0000" * 1000 + b'"}', b"1e999999999", b"-" * 10_000):
            answer = await self.bridge("sendMessage", body)
            self.check(answer, 400, "invalid_request")
        for target in ("/v1/simulator/sessions", "/v1/simulator/faults", "/v1/me/sessions"):
            answer = await ask(self.relay.port, "POST", target, self.relay.user_token, b"[" * 100_000)
            self.assertEqual((answer.status, json.loads(answer.body)["error"]["code"]), (400, "invalid_request"))
        self.assertLess(self.relay.memory("VmHWM"), MEMORY)

    @scenario(60)
    @served()
    async def test_unknown_routes_and_wrong_methods(self):
        token, user = self.relay.token, self.relay.user_token
        for target in ("/v1", "/v1/", "/v1/bridge", "/v2/bridge/sendMessage", "/v1/bot/sendMessage", "/etc/passwd",
                       "/v1/%2e%2e/%2e%2e/etc/passwd", "/v1/me/nothing", "//", "/%00", "/" + "a" * 3000):
            answer = await ask(self.relay.port, "GET", target, user)
            self.assertEqual((target[:40], answer.status, json.loads(answer.body)["ok"]), (target[:40], 404, False))
        for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"):
            answer = await ask(self.relay.port, method, "/v1/bridge/sendMessage", token)
            self.check(answer, 405, "method_not_allowed")
        for method, target in (("PUT", "/v1/me/sessions"), ("POST", "/v1/me"), ("DELETE", "/v1/me/snapshot")):
            answer = await ask(self.relay.port, method, target, user)
            self.check(answer, 405, "method_not_allowed", rate=False)

    @scenario(60)
    @served()
    async def test_foreign_hosts_and_origins(self):
        for headers, status in ((("Host: evil.example",), 421), (("Host: 127.0.0.1:x",), 421), (("Host: a", "Host: b"), 400),
                                (("Origin: http://evil.example",), 403), (("Origin: null",), 403)):
            answer = await ask(self.relay.port, "GET", "/v1/me", self.relay.user_token, headers=headers)
            self.assertEqual((headers, answer.status), (headers, status))
            if answer.header("Content-Type") == "application/json":
                self.assertIs(json.loads(answer.body)["ok"], False)
        own = (f"Host: 127.0.0.1:{self.relay.port}", f"Origin: http://127.0.0.1:{self.relay.port}")
        self.assertEqual((await ask(self.relay.port, "GET", "/v1/me", self.relay.user_token, headers=own)).status, 200)

    @scenario(60)
    @served()
    async def test_heads_that_are_none(self):
        for data in (b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\xfc",
                     b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 50_000 + b"\r\n",
                     request("POST", "/v1/bridge/sendMessage", self.relay.token, b"{}", ("Content-Length: -1",)),
                     request("POST", "/v1/bridge/sendMessage", self.relay.token, b"{}", ("Content-Length: 2", "Content-Length: 3")),
                     request("POST", "/v1/bridge/sendMessage", self.relay.token, b"zz\r\n", ("Transfer-Encoding: chunked",))):
            async with Raw(self.relay.port, seconds=3) as raw:
                await raw.send(data)
                try:
                    answer = await raw.end()
                except TimeoutError:
                    answer = b""  # The server waits for the rest of a head up to its idle limit.
                self.assertNotIn(b" 200 ", answer[:20], data[:60])
        self.assertLess(self.relay.memory("VmHWM"), MEMORY)

    @scenario(90, weight=2)
    @served("--no-limits")
    async def test_10_000_requests_on_one_connection(self):
        calls = request("POST", "/v1/bridge/createSession", self.relay.token, "{}") * 5_000
        async with Raw(self.relay.port, seconds=60) as raw:
            # Answers are read while the requests are sent: neither side could hold them all.
            sending = asyncio.create_task(raw.send(calls + request("GET", "/healthz") * 5_000))
            statuses = [(await raw.answer()).status for _ in range(10_000)]
            await sending
        self.assertEqual(set(statuses), {200})
        self.assertLess(self.relay.memory("VmHWM"), MEMORY)

    @scenario(60)
    @served()
    async def test_heads_that_come_a_byte_at_a_time_or_never_end_delay_nobody(self):
        slow = [Raw(self.relay.port) for _ in range(300)]
        for raw in slow:
            await raw.__aenter__()
        head = request("GET", "/healthz")
        for at in range(len(head) - 1):
            for raw in slow[:100]:
                raw.write(head[at:at + 1])
            for raw in slow[100:]:
                raw.write(b"G" if at == 0 else b"")
            await asyncio.sleep(0)
        async with asyncio.timeout(90):
            self.assertEqual((await ask(self.relay.port, "GET", "/healthz")).status, 200)
        for raw in slow[:100]:
            raw.write(head[-1:])
        for raw in slow[:100]:
            self.assertEqual((await raw.answer()).status, 200)
        for raw in slow:
            await raw.__aexit__()
        self.assertLess(self.relay.memory("VmHWM"), MEMORY)

    @scenario(120, weight=2)
    @served("--no-limits")
    async def test_500_readers_that_do_not_read_share_one_bound(self):
        turn, _ = await self.opened()
        task = {**self.place(turn), "task_id": "t", "kind": "exec"}
        self.assertEqual((await self.bridge("createTask", task)).status, 200)
        readers = [Raw(self.relay.port, limit=1024, receive_buffer=4096) for _ in range(500)]
        for raw in readers:
            await raw.__aenter__()
            raw.writer.transport.pause_reading()
            raw.write(request("GET", "/v1/me/stream", self.relay.user_token))
        lively = Raw(self.relay.port)
        await lively.__aenter__()
        await lively.send(request("GET", "/v1/me/stream", self.relay.user_token))
        self.assertEqual((await lively.reader.readuntil(b"\r\n\r\n"))[9:12], b"200")
        before = self.relay.memory()
        # 70 MB of events that nothing else keeps.
        update = request("POST", "/v1/bridge/updateTask", self.relay.token, json.dumps(
            {**self.place(turn), "task_id": "t", "partial_result": "x" * 100_000}))
        seen = 0

        async def read():
            nonlocal seen
            while data := await lively.reader.read(1 << 20):
                seen += len(data)
        reading = asyncio.create_task(read())
        async with Raw(self.relay.port) as raw:
            for _ in range(700):
                await raw.send(update)
                self.assertEqual((await raw.answer()).status, 200)
        async with asyncio.timeout(120):
            while seen < 70_000_000:
                await asyncio.sleep(0.05)
        reading.cancel()
        # The ring, 26 MB; the slowest reader's backlog, 32 MB; and room for both to move.
        self.assertLess(self.relay.memory("VmHWM") - before, 130)
        for raw in [*readers, lively]:
            await raw.__aexit__()


class BadFrameTests(SimulatorScenarios):
    async def socket(self, raw):
        self.assertEqual((await upgraded(raw, self.relay.token)).status, 101)
        self.assertIn(b'"ready"', (await next_frame(raw))[1])

    @scenario(60)
    @served()
    async def test_frames_that_break_the_protocol_close_the_socket_with_its_code(self):
        text = b'{"type":"pong"}'
        for name, data, codes in (
                ("unmasked", frame(text, masked=False), (1002,)),
                ("reserved bits", frame(text, reserved=0x40), (1002,)),
                ("unknown opcode", frame(text, opcode=3), (1002,)),
                ("unknown control", frame(b"", opcode=11), (1002,)),
                ("long ping", frame(b"x" * 126, opcode=9), (1002,)),
                ("long close", frame(b"\x03\xe8" + b"x" * 200, opcode=8), (1002,)),
                ("ping in fragments", frame(b"x", opcode=9, fin=False), (1002,)),
                ("close of one byte", frame(b"x", opcode=8), (1002,)),
                ("close with a code that may not be sent", frame(b"\x03\xed", opcode=8), (1002,)),
                ("continuation of nothing", frame(text, opcode=0), (1002,)),
                ("text within text", frame(text, fin=False) + frame(text), (1002,)),
                ("bad UTF-8", frame(b'{"type":"\xff"}'), (1007,)),
                ("bad UTF-8 in fragments", frame(b"\xe2\x82", fin=False) + frame(b"(", opcode=0), (1007,)),
                ("100 MB announced", frame(b"x" * 1000, announced=100_000_000), (1009,)),
                ("a length beyond all", frame(b"x", announced=(1 << 63) - 1), (1009, 1002)),
                ("a negative length", frame(b"x", announced=1 << 63), (1009, 1002))):
            async with Raw(self.relay.port) as raw:
                await self.socket(raw)
                await raw.send(data)
                self.assertIn(await close_code(raw), codes, name)
        self.assertEqual({breach["code"] for breach in await self.relay.breaches()}, {"malformedFrame"})
        self.assertLess(self.relay.memory("VmHWM"), MEMORY)

    @scenario(60)
    @served()
    async def test_100_MB_in_one_frame_or_in_fragments_are_not_taken_in(self):
        for fragments in (False, True):
            async with Raw(self.relay.port) as raw:
                await self.socket(raw)
                piece = b"x" * 1_000_000
                if not fragments:
                    raw.write(frame(piece, announced=100_000_000)[:-len(piece)])
                for number in range(100):
                    await raw.send(frame(piece, 1 if number == 0 else 0, fin=False) if fragments else piece)
                    if raw.reader.at_eof():
                        break
                # The reset of a connection with unread input may overtake the closing frame.
                self.assertIn(await close_code(raw), (1009, None))
        self.assertLess(self.relay.memory("VmHWM"), MEMORY)

    @scenario(60)
    @served()
    async def test_frames_that_mean_nothing_are_noted_and_the_socket_stays(self):
        async with Raw(self.relay.port) as raw:
            await self.socket(raw)
            for text in (b"", b"{", b"[]", b"7", b"[" * 100_000, b'{"type":7}', b'{"type":"ack"}', b'{"type":"ack","up_to_update_id":"9"}',
                         b'{"type":"dance"}', b'{"type":"x.resp","req_id":"none"}', b'{"type":"hello"}'):
                await raw.send(frame(text))
            for _ in range(20_000):
                raw.write(frame(b"", opcode=10))
            await raw.send(frame(b'{"type":"ping"}'))
            opcode, answer = await next_frame(raw)
            self.assertEqual((opcode, json.loads(answer)), (1, {"type": "pong"}))
        self.assertGreaterEqual(len(await self.relay.breaches()), 10)
        self.assertLess(self.relay.memory("VmHWM"), MEMORY)

    @scenario(60)
    @served()
    async def test_upgrades_that_are_none(self):
        port, token = self.relay.port, self.relay.token
        key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
        for headers, status in (((), 426), (("Upgrade: websocket", "Connection: Upgrade", key), 426),
                                (("Upgrade: websocket", "Connection: Upgrade", key, "Sec-WebSocket-Version: 12"), 426),
                                (("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"), 400),
                                (("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", key, key), 400),
                                (("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: x"), 400)):
            answer = await ask(port, "GET", "/v1/bridge/ws", token, headers=headers)
            self.assertEqual((headers, answer.status, json.loads(answer.body)["ok"]), (headers, status, False))


if __name__ == "__main__":
    unittest.main()
