import Vocabulary

/// What the journal keeps of a chat that is not made: a setting of its own, beside that of the chat's id.
struct RunChatRecord: Sendable, Hashable, Codable {
    enum State: String, Sendable, Codable {
        case wanted, refused, muted
        /// The chat is there, and no phone has its key yet.
        case unreadable
    }

    /// The agent is asked what became of it: its words are not kept here.
    struct Run: Sendable, Hashable, Codable {
        private enum CodingKeys: String, CodingKey {
            case run
            case wall = "wall_ms"
        }

        var run: String
        /// When it was first heard of.
        var wall: Int64
    }

    static let settingPrefix = "run-chat:"
    /// A run of yesterday is no news.
    static let life: Int64 = 86_400_000

    var version = 1
    var state: State
    /// Also the one that was under way.
    var tries = 0
    var runs: [Run] = []

    var bytes: [UInt8] { SettingRecord.bytes(of: self) }

    init(_ state: State, tries: Int = 0, runs: [Run] = []) {
        self.state = state
        self.tries = tries
        self.runs = runs
    }

    /// Nil: it was written by a newer version, or is damaged. The next run then asks for a chat.
    init?(_ bytes: [UInt8]) {
        guard let read = SettingRecord.read(Self.self, bytes), read.version == 1 else { return nil }
        self = read
    }
}
