import AgentKit
import OpenClaw
import Testing
import Vocabulary

@Suite("Frames of OpenClaw")
struct OpenClawDecoderTests {
    private static let run = RunID("r")

    private static func decode(_ decoder: inout OpenClawDecoder, _ frame: String) -> [Observation] {
        let bytes = Array(frame.utf8)
        return bytes.withUnsafeBytes { decoder.received($0, capacity: $0.count, at: .zero) }
    }

    private static func chat(_ members: String, state: String = "delta") -> String {
        #"{"type":"event","event":"chat","payload":{"runId":"r","sessionKey":"k","state":"\#(state)",\#(members)}}"#
    }

    private static func message(_ text: String) -> String {
        #""message":{"role":"assistant","content":[{"type":"text","text":"\#(text)"}]}"#
    }

    private static func texts(_ observations: [Observation]) -> [TextChange] {
        observations.compactMap {
            if case .signal(let signal) = $0, case .text(let change) = signal.event { change } else { nil }
        }
    }

    @Test("a cumulative text that grew is told by what was added, another one whole")
    func cumulative() {
        var decoder = OpenClawDecoder()
        func said(_ members: String) -> [TextChange] { Self.texts(Self.decode(&decoder, Self.chat(members))) }
        #expect(said(Self.message("Hé")) == [.snapshot("Hé")])
        #expect(said(Self.message("Héllo 👍")) == [.append("llo 👍")])
        #expect(said(Self.message("Héllo 👍")) == [])
        #expect(said(Self.message("Héllo")) == [.snapshot("Héllo")])
        #expect(said(#""deltaText":" you""#) == [.append(" you")])
        #expect(said(#""deltaText":"Bye","replace":true"#) == [.snapshot("Bye")])
        #expect(said(#""deltaText":"","replace":true"#) == [.snapshot("")])
    }

    @Test("after a failed attempt the next text is whole, even when it extends the failed one's")
    func retry() {
        var decoder = OpenClawDecoder()
        func lifecycle(_ data: String) -> String {
            #"{"type":"event","event":"agent","payload":{"runId":"r","stream":"lifecycle","sessionKey":"k","data":\#(data)}}"#
        }
        _ = Self.decode(&decoder, Self.chat(Self.message("ab")))
        #expect(
            Self.decode(&decoder, lifecycle(#"{"phase":"error","error":"overloaded"}"#)) == [
                .signal(RunSignal(run: Self.run, session: AgentSession("k"), event: .retrying(reason: "overloaded")))
            ])
        _ = Self.decode(&decoder, lifecycle(#"{"phase":"start"}"#))
        #expect(Self.texts(Self.decode(&decoder, Self.chat(Self.message("abc")))) == [.snapshot("abc")])
    }

    @Test("a smaller number is stale, an equal one is not, and a terminal is never refused for it")
    func numbers() {
        var decoder = OpenClawDecoder()
        func said(_ sequence: Int, _ text: String) -> Int {
            Self.decode(&decoder, Self.chat("\"seq\":\(sequence)," + Self.message(text))).count
        }
        #expect(said(5, "a") == 1)
        #expect(said(5, "ab") == 1)
        #expect(said(4, "abc") == 0)
        #expect(Self.decode(&decoder, Self.chat(#""seq":1"#, state: "final")).count == 1)
    }

    @Test("what is unknown is counted and ignored, and what is broken crashes nothing")
    func unknown() {
        var decoder = OpenClawDecoder()
        #expect(Self.decode(&decoder, #"{"type":"event","event":"new.thing","payload":{}}"#).isEmpty)
        #expect(Self.decode(&decoder, Self.chat(#""x":1"#, state: "dreaming")).isEmpty)
        #expect(decoder.unknown.counts == ["event new.thing": 1, "chat state dreaming": 1])
        for broken in [
            "", "{", "[]", "null", #"{"type":5}"#, #"{"type":"event","event":"chat","payload":{"runId":7}}"#,
        ] {
            #expect(Self.decode(&decoder, broken).isEmpty)
        }
        #expect(decoder.unknown.malformed > 0)
    }

    @Test("thousands of damaged frames crash nothing")
    func damaged() {
        var decoder = OpenClawDecoder()
        let good = Array(Self.chat(#""seq":1,"# + Self.message("some text with \\u00e9 and \\\"quotes\\\"")).utf8)
        var state: UInt64 = 5
        for _ in 0..<5_000 {
            var frame = good
            for _ in 0..<4 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                frame[Int(state >> 33) % frame.count] = UInt8(truncatingIfNeeded: state >> 20)
            }
            frame.removeLast(Int(state >> 50) % 20)
            _ = frame.withUnsafeBytes { decoder.received($0, capacity: $0.count, at: .zero) }
        }
        #expect(decoder.unknown.malformed > 1_000)
    }
}
