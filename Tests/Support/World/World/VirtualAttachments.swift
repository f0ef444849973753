import RelayRules
import Vocabulary

/// Files that messages name in a world: the servers behind the addresses, their pace, and the files on the computer's
/// disk.
///
/// The real outside has the same limits: a new process finds no file of an earlier one, only a few fetches run at once, and a slow
/// server is given up.
package final class VirtualAttachments: @unchecked Sendable {
    /// A file at an address. Nil bytes if it cannot be fetched.
    package struct Served {
        package var bytes: [UInt8]?
        package var takes: Duration

        package init(_ bytes: [UInt8]?, takes: Duration) {
            self.bytes = bytes
            self.takes = takes
        }
    }

    /// Files by address.
    package var served: [String: Served] = [:]
    /// Number of fetches by address.
    package private(set) var asked: [String: Int] = [:]
    private static let folder = "/files/"
    private static let workerLimit = 4
    /// Longest time for one file.
    static let timeLimit = Duration.seconds(60)
    private let store: VirtualFiles
    private let time: VirtualTime
    private var numbers: [TurnID: Int] = [:]
    private var lastNumber = 0
    private var workers = 0
    private var waiting: [() -> Void] = []

    init(_ store: VirtualFiles, _ time: VirtualTime) {
        self.store = store
        self.time = time
    }

    package var onDisk: [String] { store.files.keys.filter { $0.hasPrefix(Self.folder) }.sorted() }

    /// The port of a new process.
    func port(_ isAlive: @escaping () -> Bool) -> any AttachmentPort {
        for path in onDisk { store.files[path] = nil }
        (numbers, workers, waiting) = ([:], 0, [])
        return Port(self, isAlive)
    }

    private final class Port: AttachmentPort, @unchecked Sendable {
        private let files: VirtualAttachments
        private let isAlive: () -> Bool

        init(_ files: VirtualAttachments, _ isAlive: @escaping () -> Bool) {
            self.files = files
            self.isAlive = isAlive
        }

        func fetch(
            _ attachments: [Attachment], for turn: TurnID, completion: @escaping @Sendable ([Attachment]) -> Void
        ) {
            guard isAlive() else { return }
            files.lastNumber += 1
            let number = files.lastNumber
            files.numbers[turn] = number
            files.waiting.append { [self] in next(attachments, 0, for: turn, number, completion) }
            work()
        }

        private func work() {
            guard isAlive(), files.workers < VirtualAttachments.workerLimit, !files.waiting.isEmpty else { return }
            files.workers += 1
            files.waiting.removeFirst()()
        }

        /// The fetch ended, or the turn dropped its files.
        private func rests() {
            guard isAlive() else { return }
            files.workers -= 1
            work()
        }

        func drop(_ turn: TurnID) {
            guard isAlive(), !EdgeFaults.keepsFiles else { return }
            files.numbers[turn] = nil
            for path in files.onDisk where path.hasPrefix(Self.folder(of: turn)) { files.store.files[path] = nil }
        }

        private static func folder(of turn: TurnID) -> String { "\(VirtualAttachments.folder)\(turn)/" }

        private func next(
            _ attachments: [Attachment], _ index: Int, for turn: TurnID, _ number: Int,
            _ completion: @escaping @Sendable ([Attachment]) -> Void
        ) {
            guard files.numbers[turn] == number else { return rests() }
            guard index < attachments.count else {
                rests()
                return completion(attachments)
            }
            let url = attachments[index].url ?? ""
            let served = files.served[url] ?? Served(nil, takes: .zero)
            files.asked[url, default: 0] += 1
            let path = "\(Self.folder(of: turn))\(index)"
            // Half of the file is there during the fetch.
            files.store.files[path] = served.bytes.map { Array($0.prefix($0.count / 2)) }
            let isTooSlow = served.takes > VirtualAttachments.timeLimit
            files.time.after(isTooSlow ? VirtualAttachments.timeLimit : served.takes) { [self] in
                guard isAlive() else { return }
                guard files.numbers[turn] == number else { return rests() }
                let bytes = isTooSlow ? nil : served.bytes
                files.store.files[path] = bytes
                var attachments = attachments
                let name = attachments[index].plainName
                attachments[index].outcome =
                    bytes.map {
                        .file(MessageFile(name: name, mimeType: WorldSide.type(of: name), path: path, size: $0.count))
                    } ?? .missing(.notFetched(name, isTooSlow ? "the server is too slow" : "the server answered 404"))
                // Others get their turn before the next file.
                files.workers -= 1
                files.waiting.append { [self] in next(attachments, index + 1, for: turn, number, completion) }
                work()
            }
        }
    }
}

extension WorldSide {
    /// A JSON array of attachments. `more` adds members to each.
    static func attachments(_ urls: [String], more: String = "") -> String {
        let list = urls.map {
            #"{"key":"u/1","mime":"\#(type(of: $0))","url":"\#($0)","name":"\#($0)"\#(more)}"#
        }
        return "[\(list.joined(separator: ","))]"
    }

    static func type(of name: String) -> String { name.hasSuffix(".pdf") ? "application/pdf" : "image/png" }

    /// The person writes with files. Each address is also the file's name, and need not be served.
    package func writes(_ text: String, files urls: [String], chat: Int? = nil, after: Duration) {
        time.after(after) { [self] in
            let known = chat.flatMap { chats[$0] }
            let isThere = relay.sessions.contains { $0.id == known && !$0.isDeleted }
            let session = isThere ? known ?? "" : relay.userStartsSession(at: moment)
            if let chat { begins(chat, in: session) }
            let list = Self.attachments(urls, more: #","size":9"#)
            let exchange = relay.respond(
                to: RawRequest(
                    method: "POST", target: "/v1/me/sessions/\(session)/send",
                    headers: [
                        RawHeader("Authorization", "Bearer \(RelayOptions().userToken)"),
                        RawHeader("Content-Type", "application/json"),
                    ], body: Array(#"{"text":"\#(text)","attachments":\#(list)}"#.utf8)),
                at: moment)
            let answer = GatewayValue.parse(exchange.response.body)
            guard let names = answer?["result"] ?? answer, let interaction = names["interaction_id"]?.string,
                let message = names["message_id"]?.string
            else { preconditionFailure("the relay would not: \(exchange.response.status)") }
            note(text, (session: session, interaction: interaction, message: message))
            pump()
        }
    }
}
