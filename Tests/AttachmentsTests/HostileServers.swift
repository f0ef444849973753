import Attachments
import FoundationEssentials
import Locking
import Testing
import Vocabulary
import WireTesting

/// Testing has an `Attachment` of its own.
typealias Attachment = Vocabulary.Attachment

/// The servers of Tests/Peers, a fresh spool, and a fetcher whose relay is the server without TLS.
final class HostileServers {
    let http: Int
    let https: Int
    let folder: String
    let fetcher: AttachmentFetcher
    private let peer: Peer
    private let answers = Queue<[Attachment]>()

    init(_ change: (inout FetchSettings) -> Void = { _ in }) throws {
        let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
        peer = try Peer("hostile_files.py", root: root)
        let words = try peer.line().split(separator: " ").map(String.init)
        guard words.count == 4, words[0] == "ready", let http = Int(words[1]), let https = Int(words[2]) else {
            throw Peer.Failure.ended
        }
        (self.http, self.https) = (http, https)
        folder = FileManager.default.temporaryDirectory.appending(path: "spool-\(UUID().uuidString)").path
        var settings = FetchSettings(relay: try WebAddress("http://127.0.0.1:\(http)"))
        settings.foreignAuthorityFile = words[3]
        settings.resolve = ["files.example:\(https):127.0.0.1", "files.example:443:127.0.0.1", "six.example:443:::1"]
        settings.resolve += [
            "both.example:\(https):10.0.0.1,127.0.0.1", "mixed.example:\(https):fd00::1,127.0.0.1",
            "private.example:\(https):10.0.0.1,fd00::1",
        ]
        settings.timeLimit = .seconds(20)
        change(&settings)
        fetcher = AttachmentFetcher(into: FileSpool(folder), settings) { delete in
            delete()
            return true
        }
    }

    deinit {
        fetcher.stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    func relay(_ path: String) -> String { "http://127.0.0.1:\(http)/\(path)" }
    /// A host with TLS that is not the relay's.
    func foreign(_ path: String) -> String { "https://files.example:\(https)/\(path)" }

    /// The next request that a server received.
    func request() throws -> String { try peer.line() }

    func fetch(_ attachments: [Attachment], for turn: String = "t1") throws -> [Attachment] {
        begin(attachments, for: turn)
        return try answers.next()
    }

    func begin(_ attachments: [Attachment], for turn: String = "t1") {
        fetcher.fetch(attachments, for: TurnID(turn)) { [answers] in answers.put($0) }
    }

    /// The next answer, of any turn.
    func answer() throws -> [Attachment] { try answers.next() }

    var hasAnswer: Bool { !answers.isEmpty }

    func fetch(_ url: String, type: String? = "image/png") throws -> AttachmentOutcome? {
        try fetch([Attachment(url: url, mimeType: type, name: "a.png")]).first?.outcome
    }

    /// Reason why the file is missing, or nil if it arrived.
    func problem(_ url: String, type: String? = "image/png") throws -> String? {
        guard case .missing(let file)? = try fetch(url, type: type) else { return nil }
        let beginning = "a.png could not be fetched: "
        #expect(file.sentence.hasPrefix(beginning))
        return String(file.sentence.dropFirst(beginning.count).dropLast())
    }

    var filesOnDisk: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted() }

    static let png: [UInt8] = {
        let start: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        return start + (0..<2_048).map { UInt8($0 % 256) }
    }()

    static func bytes(_ file: MessageFile) -> [UInt8]? {
        FileManager.default.contents(atPath: file.path).map { Array($0) }
    }
}
