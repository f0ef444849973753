import Vocabulary

/// Journal record of a chat that is not made yet: a setting beside that of the chat's id.
struct RunChatRecord: Sendable, Hashable, Codable {
    enum State: String, Sendable, Codable {
        case wanted, refused, muted
        /// The chat exists, and no phone has its key yet.
        case unreadable
    }

    /// A run that waits for the chat. Its words are not stored: the agent is asked what became of it.
    struct Run: Sendable, Hashable, Codable {
        private enum CodingKeys: String, CodingKey {
            case run
            case wall = "wall_ms"
        }

        var run: String
        /// Wall clock when its first signal came.
        var wall: Int64
    }

    static let settingPrefix = "run-chat:"
    /// A day in milliseconds: older runs are no news.
    static let life: Int64 = 86_400_000

    var version = 1
    var state: State
    /// Tries so far, including one in flight.
    var tries = 0
    var runs: [Run] = []

    var bytes: [UInt8] { SettingRecord.bytes(of: self) }

    init(_ state: State, tries: Int = 0, runs: [Run] = []) {
        self.state = state
        self.tries = tries
        self.runs = runs
    }

    /// Nil if the record is damaged or of a newer version; the next run then asks for a chat.
    init?(_ bytes: [UInt8]) {
        guard let read = SettingRecord.read(Self.self, bytes), read.version == 1 else { return nil }
        self = read
    }
}
