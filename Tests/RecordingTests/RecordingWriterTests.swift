import FoundationEssentials
import Recording
import Testing

@Suite("Writing recordings")
struct RecordingWriterTests {
    private static func path() -> String {
        FileManager.default.temporaryDirectory.appending(path: "recording-\(UUID().uuidString).jsonl").path()
    }

    private static func entry(
        _ milliseconds: Int64, _ content: EntryToRecord.Content, _ direction: RecordedEntry.Direction = .incoming
    ) -> EntryToRecord {
        EntryToRecord(
            milliseconds: milliseconds, link: .agent, connection: "my \"home\"", stream: 3, direction: direction,
            content: content)
    }

    private static let contents: [(EntryToRecord.Content, String)] = [
        (.frame(Array(#"{"type":"agent_start","n":1.0}"#.utf8)), #"{"type":"agent_start","n":1.0}"#),
        (.frame(Array("not \"json\"\u{1F44D}\n".utf8)), "not \"json\"\u{1F44D}\n"),
        (.socketOpened(url: "wss://h/stream"), #"{"_ws":"open","url":"wss://h/stream"}"#),
        (.socketClosed(code: 1006, reason: nil), #"{"_ws":"close","code":1006}"#),
        (.socketClosed(code: 1008, reason: "slow"), #"{"_ws":"close","code":1008,"reason":"slow"}"#),
        (.httpRequest(method: "GET", path: "/a?b=1", body: nil), #"{"_http":{"method":"GET","path":"/a?b=1"}}"#),
        (
            .httpRequest(method: "POST", path: "/a", body: Array(#"{"x":1}"#.utf8)),
            #"{"_http":{"method":"POST","path":"/a","body":{"x":1}}}"#
        ),
        (.httpResponse(status: 502, body: Array("<html>".utf8)), #"{"_http":{"status":502,"body":"<html>"}}"#),
        (.processStarted(arguments: ["--mode", "rpc"]), #"{"_proc":"spawn","args":["--mode","rpc"]}"#),
        (.processEnded(code: nil, signal: "SIGKILL"), #"{"_proc":"exit","code":null,"signal":"SIGKILL"}"#),
        (.processEnded(code: 1, signal: nil), #"{"_proc":"exit","code":1,"signal":null}"#),
    ]

    @Test("what was written is read again as it was")
    func roundTrip() throws {
        let path = Self.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let writer = try RecordingWriter(file: path, agent: "pi", date: "2026-02-03T04:05:06Z")
        for (index, content) in Self.contents.enumerated() {
            try writer.write(Self.entry(Int64(index * 10), content.0, index % 2 == 0 ? .incoming : .outgoing))
        }
        let reader = try RecordingReader(file: path)
        for (index, content) in Self.contents.enumerated() {
            let entry = try #require(try reader.next())
            #expect(entry.milliseconds == Int64(index * 10))
            #expect(entry.link == .agent)
            #expect(entry.direction == (index % 2 == 0 ? .incoming : .outgoing))
            #expect(String(decoding: entry.frame, as: UTF8.self) == content.1)
            #expect(entry.line == index + 2)
        }
        #expect(try reader.next() == nil)
        #expect(reader.header?.version == RecordingHeader.version)
        #expect(reader.header?.agent == "pi")
        #expect(reader.header?.date == "2026-02-03T04:05:06Z")
    }

    @Test("only its owner may read it")
    func rights() throws {
        let path = Self.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        // A file that was there before, empty and open to all, is closed to others as well.
        #expect(FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o644]))
        _ = try RecordingWriter(file: path, agent: "oppi", date: "d")
        let rights = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(rights == 0o600)
    }

    @Test("time that would go back stands still")
    func order() throws {
        let path = Self.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let writer = try RecordingWriter(file: path, agent: "oppi", date: "d")
        for time in [5, 3, 7] as [Int64] { try writer.write(Self.entry(time, .frame(Array("{}".utf8)))) }
        let reader = try RecordingReader(file: path)
        #expect(try reader.next()?.milliseconds == 5)
        #expect(try reader.next()?.milliseconds == 5)
        #expect(try reader.next()?.milliseconds == 7)
    }

    @Test("a recording is not written over or continued, nor is a folder that is not there made")
    func refused() throws {
        let path = Self.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("something\n".utf8).write(to: URL(filePath: path))
        for file in [path, "/nowhere/x.jsonl", "/dev/null"] {
            let error = #expect(throws: RecordingError.self) {
                _ = try RecordingWriter(file: file, agent: "oppi", date: "d")
            }
            #expect(error?.code == .unwritable)
        }
        #expect(try Data(contentsOf: URL(filePath: path)) == Data("something\n".utf8))
    }

    @Test("at its limit it refuses a line whole, and everything after it")
    func limit() throws {
        let path = Self.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let writer = try RecordingWriter(file: path, agent: "oppi", date: "d", limit: 200)
        try writer.write(Self.entry(0, .frame(Array("{}".utf8))))
        for size in [500, 0] {
            let text = "{\"a\":\"" + String(repeating: "x", count: size) + "\"}"
            let error = #expect(throws: RecordingError.self) {
                try writer.write(Self.entry(1, .frame(Array(text.utf8))))
            }
            #expect(error?.code == .tooLarge)
        }
        let reader = try RecordingReader(file: path)
        #expect(try reader.next() != nil)
        #expect(try reader.next() == nil)
    }

    @Test("a frame that no reader would take is left out and told")
    func large() throws {
        let line = RecordingFormatter().line(
            for: Self.entry(0, .frame([UInt8](repeating: 0x61, count: RecordingReader.lineLimit))))
        #expect(String(decoding: line, as: UTF8.self).contains("\"frame\":{\"_raw\":\"["))
        #expect(line.count < 300)
    }
}
