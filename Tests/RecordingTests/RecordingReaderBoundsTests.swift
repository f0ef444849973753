import FoundationEssentials
import Glibc
import Recording
import Testing

@Suite("Recordings at the reader's bounds")
struct RecordingReaderBoundsTests {
    private func error(in text: String) -> RecordingError? {
        #expect(throws: RecordingError.self) {
            let reader = try RecordingReader(text: text, name: "t.jsonl")
            while try reader.next() != nil {}
        }
    }

    private static let good = "{\"at_ms\":0,\"dir\":\"in\",\"frame\":{\"a\":{}}}\n"

    @Test("a line of more than 64 MB is refused, whether it ends or not", arguments: [true, false])
    func long(ends: Bool) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "recording-\(UUID().uuidString).jsonl")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(Self.good.utf8).write(to: file)
        // A hole in the file reads as NUL bytes and takes no space.
        let size = RecordingReader.lineLimit + (ends ? 100 : 70 << 20)
        #expect(truncate(file.path(), off_t(size)) == 0)
        if ends {
            let handle = open(file.path(), O_WRONLY | O_APPEND)
            #expect(write(handle, "\n\n", 2) == 2)
            close(handle)
        }
        let reader = try RecordingReader(file: file.path())
        #expect(try reader.next() != nil)
        let error = #expect(throws: RecordingError.self) { try reader.next() }
        #expect(error?.code == .lineTooLong)
        #expect(error?.line == 2)
        #expect(error?.message.contains("64 MB") == true)
    }

    @Test("a line that nests too deep is refused where it is parsed, and handed over where it is not")
    func deep() throws {
        let frame = #"{"a":"# + String(repeating: "[", count: 2_000) + String(repeating: "]", count: 2_000) + "}"
        let error = error(in: Self.good + "{\"dir\":\"in\",\"at_ms\":0,\"frame\":\(frame),\"x\":1}\n")
        #expect(error?.code == .tooDeep)
        #expect(error?.line == 2)
        #expect(error?.message.contains("1,024") == true)
        let reader = try RecordingReader(text: "{\"at_ms\":0,\"dir\":\"in\",\"frame\":\(frame)}\n", name: "t")
        #expect(try reader.next()?.frame.count == frame.utf8.count)
    }

    @Test(
        "NUL bytes are no JSON, in whatever place",
        arguments: [
            "\u{0}\n", "\u{0}{\"at_ms\":0,\"dir\":\"in\",\"frame\":{}}\n",
            "{\"at_ms\":0\u{0},\"dir\":\"in\",\"frame\":{}}\n",
            "{\"at_ms\":0,\"dir\":\"in\",\"frame\":{}}\u{0}\n", "{\"at_ms\":0,\"dir\":\"in\",\"frame\":\u{0}}\n",
        ])
    func zeroes(line: String) {
        let error = error(in: Self.good + line)
        #expect(error?.code == .notJSON)
        #expect(error?.line == 2)
        #expect(error?.message.contains("expected") == true)
    }

    @Test("zeroes behind the last line are what a crash leaves: the recording is cut off there")
    func zeroTail() {
        let error = error(in: Self.good + String(repeating: "\u{0}", count: 5_000))
        #expect(error?.code == .truncated)
        #expect(error?.line == 2)
    }

    @Test("a last line is told to be cut off wherever it was cut")
    func truncated() throws {
        let line = #"{"at_ms":1,"link":"agent","dir":"in","frame":{"a":{"b":{"c":1}}}}"#
        for count in 1..<line.utf8.count {
            let error = error(in: Self.good + line.prefix(count))
            #expect(error?.code == .truncated, "\(line.prefix(count))")
            #expect(error?.line == 2)
        }
        // The line lacks only its line feed.
        let reader = try RecordingReader(text: Self.good + line, name: "t")
        #expect(try reader.next() != nil)
        #expect(try reader.next()?.milliseconds == 1)
    }

    @Test("frames out of order are told with both times")
    func order() {
        let error = error(
            in: "{\"at_ms\":7,\"dir\":\"in\",\"frame\":{}}\n\n{\"at_ms\":6,\"dir\":\"in\",\"frame\":{}}\n")
        #expect(error?.code == .timeGoesBack)
        #expect(error?.description.hasPrefix("t.jsonl:3: ") == true)
        #expect(error?.message.contains("from 7 to 6") == true)
    }

    @Test("numbers that no clock gives are refused", arguments: ["-1", "1.5", "1e30", "999999999999999999", "null"])
    func times(number: String) {
        let error = error(in: "{\"at_ms\":\(number),\"dir\":\"in\",\"frame\":{}}\n")
        #expect(error?.code == .wrongShape)
        #expect(error?.line == 1)
    }
}
