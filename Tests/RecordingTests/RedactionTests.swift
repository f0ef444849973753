import Recording
import Testing

@Suite("Secrets in recordings")
struct RedactionTests {
    private let formatter = RecordingFormatter(knownSecrets: ["example-gateway-token"])

    private func frame(_ text: String) -> String {
        let line = String(
            decoding: formatter.line(
                for: EntryToRecord(
                    milliseconds: 1, link: .agent, connection: "home", stream: 1, direction: .incoming,
                    content: .frame(Array(text.utf8)))), as: UTF8.self)
        let head = #"{"at_ms":1,"link":"agent","connection":"home","stream":1,"dir":"in","frame":"#
        #expect(line.hasPrefix(head))
        #expect(line.hasSuffix("}\n"))
        return String(line.dropFirst(head.count).dropLast(2))
    }

    private static let byName: [(String, String)] = [
        (#"{"auth":{"token":"abc","mode":"token"}}"#, #"{"auth":{"token":"[redacted]","mode":"token"}}"#),
        (
            #"{"a":[{"b":{"deviceToken":"x","role":"operator"}}]}"#,
            #"{"a":[{"b":{"deviceToken":"[redacted]","role":"operator"}}]}"#
        ),
        (#"{"password" : 1234}"#, #"{"password" : "[redacted]"}"#),
        (#"{"to\u006ben":"x"}"#, #"{"to\u006ben":"[redacted]"}"#),
        (#"{"Authorization":["x","y"],"n":1}"#, #"{"Authorization":["[redacted]","[redacted]"],"n":1}"#),
        (#"{"credentials":{"user":"u","n":1}}"#, #"{"credentials":{"user":"[redacted]","n":"[redacted]"}}"#),
        (#"{"headers":[{"name":"Cookie","value":"a=b"}]}"#, #"{"headers":[{"name":"Cookie","value":"[redacted]"}]}"#),
        (
            #"{"headers":[["X-Api-Key","k"],["Accept","k"]]}"#,
            #"{"headers":[["X-Api-Key","[redacted]"],["Accept","k"]]}"#
        ),
        (
            #"{"bot_token":"a","poll_token":"b","nonce":"c"}"#,
            #"{"bot_token":"[redacted]","poll_token":"[redacted]","nonce":"[redacted]"}"#
        ),
    ]

    @Test("the value of a secret's name is replaced, at any depth", arguments: byName)
    func names(given: String, expected: String) { #expect(frame(given) == expected) }

    private static let byShape: [(String, String)] = [
        (#"{"t":"x inst_A1b2C3d4E5f6G7h8:s_live_abcdefghijklmnop y"}"#, #"{"t":"x [redacted] y"}"#),
        (#"{"t":"ninst_A1:s_test_b"}"#, #"{"t":"n[redacted]"}"#),
        (#"{"t":"inst_A1\u003as_live_b \u00e9\/"}"#, #"{"t":"[redacted] \u00e9\/"}"#),
        (#"{"url":"/x?token=abc&a=1&b=inst_A1%3As_live_b"}"#, #"{"url":"/x?token=[redacted]&a=1&b=[redacted]"}"#),
        (#"{"t":"Bearer abcdefg1 and on"}"#, #"{"t":"Bearer [redacted] and on"}"#),
        (#"{"t":"Authorization: Digest a b\nHost: h"}"#, #"{"t":"Authorization: [redacted]\nHost: h"}"#),
        (#"{"body":"{\"token\":\"abc\",\"n\":1}"}"#, #"{"body":"{\"token\":\"[redacted]\",\"n\":1}"}"#),
        (
            #"{"b":"{\"c\":\"{\\\"password\\\":\\\"x y\\\"}\"}"}"#,
            #"{"b":"{\"c\":\"{\\\"password\\\":\\\"[redacted]\\\"}\"}"}"#
        ),
        (#"{"t":"export API_KEY=hunter2; ls"}"#, #"{"t":"export API_KEY=[redacted]; ls"}"#),
        (#"{"t":"password: hunter2\n"}"#, #"{"t":"password: [redacted]\n"}"#),
        (#"{"t":"dt_AbCdEfGhIjKlMnOpQrStUv12"}"#, #"{"t":"[redacted]"}"#),
        (#"{"t":"a\nsk-ant-api03-AbCdEf0123456789"}"#, #"{"t":"a\n[redacted]"}"#),
        (#"{"t":"ghp_16C7e42F292c6912E7710c838347Ae178B4a"}"#, #"{"t":"[redacted]"}"#),
        (#"{"t":"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl!"}"#, #"{"t":"[redacted]!"}"#),
        (
            #"{"t":"-----BEGIN PRIVATE KEY-----\nMC4\n-----END PRIVATE KEY-----\n"}"#,
            #"{"t":"[redacted]-----END PRIVATE KEY-----\n"}"#
        ),
        (#"{"t":"it said example-gateway-token."}"#, #"{"t":"it said [redacted]."}"#),
        (#"{"inst_A1:s_live_b":1}"#, #"{"[redacted]":1}"#),
        ("no json: inst_A1:s_live_b", #"{"_raw":"no json: [redacted]"}"#),
    ]

    @Test("what looks like a secret is replaced where it stands", arguments: byShape)
    func shapes(given: String, expected: String) { #expect(frame(given) == expected) }

    @Test(
        "everything else stays byte for byte",
        arguments: [
            #"{"a":1.50e+3,"b":"\u00e9\/\ud83d\udc4d 👍","c":[ ],"d":null,"a":2}"#,
            #"{"usage":{"inputTokens":5,"output_tokens":7},"tokens":{"input":1}}"#,
            #"{"runId":"exec-approval-followup:ap-1:nonce:x4","sessionKey":"agent:main:main","idempotencyKey":"k"}"#,
            #"{"t":"the token: what it is, a bearer instrument, basic training"}"#,
            #"{"t":"if token == nil { return }"}"#,
            #"{"t":"script_some_long_function_name_without_digits"}"#,
            #"{"announce":"x","key":"agent:main","token":"","secret":true}"#,
            #"{"name":"tool","value":"v","scopes":["operator.read","token","x"]}"#,
        ])
    func kept(text: String) { #expect(frame(text) == text) }

    @Test("line breaks between the tokens of a frame become blanks")
    func oneLine() { #expect(frame("{\n\"a\":\r\n1}") == #"{ "a":  1}"#) }

    @Test(
        "what is no JSON object is kept as text",
        arguments: [
            ("[1]", "[1]"), ("", ""), ("{", "{"), ("{}{}", "{}{}"), ("\u{FEFF}{}", "\u{FEFF}{}"),
            ("a\u{0}b", #"a\u0000b"#),
        ])
    func raw(given: String, expected: String) { #expect(frame(given) == #"{"_raw":"\#(expected)"}"#) }

    @Test("a frame that nests too deep for a parser is kept as text")
    func deep() {
        let text = #"{"a":"# + String(repeating: "[", count: 2_000) + String(repeating: "]", count: 2_000) + "}"
        #expect(frame(text).hasPrefix(#"{"_raw":"{\"a\":[[["#))
    }

    @Test("taking secrets out twice changes nothing more")
    func twice() {
        for (given, _) in Self.byName + Self.byShape where given.hasPrefix("{") {
            let once = frame(given)
            #expect(frame(once) == once)
        }
    }

    @Test("no secret of a handshake survives")
    func handshake() {
        let secrets = [
            "example-gateway-token", "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg",
            "3peZ4Noef9dfbwtbHM8akw9AYEi4_bfQjk6RRC5h4JYGzjFBO6ySFxiwEfB7x9ECYTi11xf1UYUWBu8D8XxFAQ",
            "ae3703de-27e0-5729-8b72-ed2f7cd0a182", "dev-tok-9", "hunter2",
            "inst_A1b2C3d4E5f6G7h8:s_live_0123456789abcdef",
            "pt_AbCdEfGhIjKlMnOpQrStUv12", "dt_AbCdEfGhIjKlMnOpQrStUv12",
        ]
        let frames = [
            #"{"type":"event","event":"connect.challenge","payload":{"nonce":"\#(secrets[3])","ts":1770000000000}}"#,
            #"{"type":"req","id":"1","method":"connect","params":{"role":"operator","scopes":["operator.read"],"auth":{"token":"\#(secrets[0])","deviceToken":"\#(secrets[4])","password":"\#(secrets[5])"},"device":{"id":"5647","publicKey":"\#(secrets[1])","signature":"\#(secrets[2])","signedAt":1770000000000,"nonce":"\#(secrets[3])"}}}"#,
            #"{"type":"res","id":"1","ok":true,"payload":{"type":"hello-ok","auth":{"role":"operator","deviceToken":"\#(secrets[4])","deviceTokens":[{"deviceToken":"\#(secrets[4])","role":"node"}]}}}"#,
            #"{"type":"res","id":"1","ok":false,"error":{"code":"INVALID_REQUEST","message":"token \#(secrets[0]) is wrong"}}"#,
            #"{"_http":{"method":"GET","path":"/v1/bridge/ws?x=\#(secrets[6])","headers":{"Authorization":"Bearer \#(secrets[6])"}}}"#,
            #"{"_http":{"status":200,"body":{"ok":true,"result":{"bot_token":"\#(secrets[6])","installation_id":"inst_A1b2C3d4E5f6G7h8"}}}}"#,
            #"{"_http":{"method":"POST","path":"/pair","body":{"pairingToken":"\#(secrets[7])"}}}"#,
            #"{"_http":{"status":200,"body":"{\"deviceToken\":\"\#(secrets[8])\"}"}}"#,
            "GET /stream HTTP/1.1\r\nAuthorization: Bearer \(secrets[8])\r\n\r\n",
        ]
        for text in frames {
            let kept = frame(text)
            for secret in secrets { #expect(!kept.contains(secret), "\(kept)") }
        }
        #expect(frame(frames[2]).contains(#""role":"node""#))
        #expect(frame(frames[1]).contains(#""scopes":["operator.read"]"#))
        #expect(frame(frames[5]).contains(#""installation_id":"inst_A1b2C3d4E5f6G7h8""#))
    }

    @Test("thousands of damaged frames give lines that can be read")
    func damaged() throws {
        let good = Array(#"{"auth":{"token":"inst_A1:s_live_b\u0041\n"},"a":[1,{"b":"Bearer abcdefg1"}]}"#.utf8)
        var state: UInt64 = 11
        for _ in 0..<3_000 {
            var bytes = good
            for _ in 0..<3 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                bytes[Int(state >> 33) % bytes.count] = UInt8(truncatingIfNeeded: state >> 20)
            }
            let line = formatter.line(
                for: EntryToRecord(
                    milliseconds: 0, link: .relay, connection: "c", stream: 1, direction: .outgoing,
                    content: .frame(bytes)))
            #expect(line.filter { $0 == 10 }.count == 1)
            let reader = try RecordingReader(text: String(decoding: line, as: UTF8.self), name: "t")
            #expect(try reader.next() != nil)
        }
    }
}
