import AgentKit
import BridgeService
import FoundationEssentials
import Testing
import Vocabulary

@Suite("What a recording hides")
struct RecorderTests {
    private static let secret = "plain\\hex/without\"shape-0123"

    /// Lines behind the first one in a recording of these frames.
    private static func recorded(hiding secrets: SecretCover, _ record: (Recorder) -> Void) throws -> [String] {
        let directory = FileManager.default.temporaryDirectory.appending(path: "recorder-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let recorder = try Recorder(
            directory: directory, connection: ConnectionName("default"), agent: AgentKind(rawValue: "oppi"),
            clock: SystemClock(), hiding: secrets
        ) { Issue.record($0, "the recording ended") }
        record(recorder)
        let text = try #require(FileManager.default.contents(atPath: recorder.file))
        return String(decoding: text, as: UTF8.self).split(separator: "\n").dropFirst().map(String.init)
    }

    private static func delta(_ text: String) -> [UInt8] {
        Array(#"{"type":"text_delta","delta":\#(JSONText.string(text).text)}"#.utf8)
    }

    @Test("a secret that becomes known later is covered from then on, on both links and in both directions")
    func late() throws {
        let cover = SecretCover()
        let lines = try Self.recorded(hiding: cover) { recorder in
            recorder.agent(ChannelID(1), true, Self.delta("before \(Self.secret)"))
            cover.cover(Secret(Self.secret))
            for isIncoming in [true, false] {
                recorder.agent(ChannelID(1), isIncoming, Self.delta("It is \(Self.secret)."))
                recorder.agent(ChannelID(2), isIncoming, Array("no JSON \(Self.secret)".utf8))
                recorder.relay(isIncoming, Self.delta("It is \(Data(Self.secret.utf8).base64EncodedString())."))
            }
        }
        #expect(lines.count == 7)
        for line in lines.dropFirst() {
            #expect(line.contains("***") && !line.contains("hex") && !line.contains("shape"), "\(line)")
        }
    }

    @Test("of a secret that is cut over two frames or more both pieces are covered, and what stands beside them is not")
    func cut() throws {
        let cover = SecretCover()
        cover.cover(Secret("tok-0123456789abcdefghijklmnop"))
        let lines = try Self.recorded(hiding: cover) { recorder in
            for piece in ["It is tok-0123456", "789abcdef", "ghijklmnop, is it?"] {
                recorder.agent(ChannelID(1), true, Self.delta(piece))
            }
            // Within a string of another document.
            recorder.agent(ChannelID(1), true, Self.delta(#"{"text":"Itis tok-0123456"}"#))
            // Ordinary words: a piece that no end of a string cuts, and one that is too short.
            recorder.agent(ChannelID(1), true, Self.delta("not 456789abc, is it?"))
            recorder.agent(ChannelID(1), true, Self.delta("It is tok-012"))
        }
        for (line, expected) in zip(
            lines,
            [
                #""It is ***""#, #""***""#, #""***, is it?""#, #"\"Itis ***\""#, #""not 456789abc, is it?""#,
                #""It is tok-012""#,
            ])
        { #expect(line.contains(expected), "\(line)") }
        #expect(lines.count == 6)
    }

    @Test("the ids of a relay's frames, which its token holds, stay")
    func relay() throws {
        let cover = SecretCover()
        cover.cover(Secret("inst_abcdefghijkl:s_test_0123456789abcdef"))
        let frame = #"{"type":"ready","installation_id":"inst_abcdefghijkl"}"#
        let lines = try Self.recorded(hiding: cover) { $0.relay(true, Array(frame.utf8)) }
        #expect(lines.count == 1 && lines[0].contains(frame), "\(lines)")
    }
}
