import FoundationEssentials
import Recording
import Testing

@Suite("Reading recordings")
struct RecordingReaderTests {
    private func entries(_ text: String) throws -> [(Int64, RecordedEntry.Direction, String)] {
        let reader = try RecordingReader(text: text, name: "test.jsonl")
        var entries: [(Int64, RecordedEntry.Direction, String)] = []
        while let entry = try reader.next() {
            entries.append((entry.milliseconds, entry.direction, String(decoding: entry.frame, as: UTF8.self)))
        }
        return entries
    }

    @Test(
        "a frame comes out as it stands, whatever the order of the members",
        arguments: [
            #"{"at_ms":7,"dir":"in","frame":{"a":[1,"}"]}}"#, #"{"frame":{"a":[1,"}"]},"dir":"in","at_ms":7}"#,
            #"{ "at_ms": 7, "dir": "in", "frame": {"a":[1,"}"]} }"#,
            #"{"at_ms":7,"link":"agent","connection":"home","stream":2,"dir":"in","frame":{"a":[1,"}"]}}"#,
        ])
    func forms(line: String) throws {
        let read = try entries(line + "\n")
        #expect(read.count == 1)
        #expect(read.first?.0 == 7)
        #expect(read.first?.1 == .incoming)
        #expect(read.first?.2 == #"{"a":[1,"}"]}"#)
    }

    @Test("empty lines, carriage returns and a missing last line feed are taken")
    func lines() throws {
        let text = "\n{\"at_ms\":0,\"dir\":\"out\",\"frame\":{}}\r\n\n{\"at_ms\":1,\"dir\":\"in\",\"frame\":{\"b\":2}}"
        #expect(try entries(text).map(\.0) == [0, 1])
    }

    private static let faulty: [(String, RecordingError.Code)] = [
        ("no json\n", .notJSON),
        (#"{"at_ms":0,"dir":"in","fra"#, .truncated),
        ("[1]\n", .wrongShape),
        ("{\"at_ms\":\"0\",\"dir\":\"in\",\"frame\":{}}\n", .wrongShape),
        ("{\"at_ms\":0,\"dir\":\"up\",\"frame\":{}}\n", .wrongShape),
        ("{\"at_ms\":0,\"dir\":\"in\"}\n", .wrongShape),
        ("{\"at_ms\":0,\"link\":\"moon\",\"dir\":\"in\",\"frame\":{}}\n", .wrongShape),
        ("{\"sophon_recording\":9}\n", .unknownVersion),
    ]

    @Test("what is wrong is told with its line", arguments: faulty)
    func faults(text: String, code: RecordingError.Code) {
        let error = #expect(throws: RecordingError.self) { try entries(text) }
        #expect(error?.code == code)
        #expect(error?.description.hasPrefix("test.jsonl:1: ") == true)
    }

    @Test("time that goes back is a fault")
    func order() {
        let text = "{\"at_ms\":5,\"dir\":\"in\",\"frame\":{}}\n{\"at_ms\":4,\"dir\":\"in\",\"frame\":{}}\n"
        #expect(throws: RecordingError.self) { try entries(text) }
    }

    @Test("a file that is not there is told with the remedy")
    func missing() {
        let error = #expect(throws: RecordingError.self) { try RecordingReader(file: "/nowhere/run.jsonl") }
        #expect(error?.code == .unreadable)
    }

    @Test("a line longer than the buffer is read whole")
    func long() throws {
        let text = #"{"at_ms":0,"dir":"in","frame":{"text":""# + String(repeating: "x", count: 5_000_000) + "\"}}\n"
        let file = FileManager.default.temporaryDirectory.appending(path: "recording-\(UUID().uuidString).jsonl")
        try Data((text + text).utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let reader = try RecordingReader(file: file.path())
        #expect(try reader.next()?.frame.count == 5_000_011)
        #expect(try reader.next()?.line == 2)
        #expect(try reader.next() == nil)
    }
}
