import AgentKit
import Vocabulary

/// What is known of a chat beside what it does: where its session of pi's is and its process works, the model of its process, and whether
/// the person still has the chat.
struct PiHome {
    /// As it was written down; its file is what the next process is started with.
    private(set) var kept: PiChats.Place
    /// Where the next process works; nil: where the settings say.
    private(set) var folder: String?
    /// Where the process works that was started last.
    private var startedIn: String?
    /// Of the process that runs, as it said last: `provider/id`.
    var model: String?
    var levels = PiLevels()
    /// The prompt for which a model is being set.
    private(set) var choosing: RunID?
    /// The prompt whose choice has had its answer in this process.
    private var chosen: RunID?
    /// Processes that ended while they were to set it.
    private var deaths = 0
    /// The chat was archived or deleted: its process ends when it has nothing to do, and of a deleted one nothing is kept.
    var isLeft = false
    var isForgotten = false

    init(_ place: PiChats.Place) {
        kept = place
        folder = place.folder
    }

    var file: String? { kept.file }

    /// The workspace of its chat, as the newest message says.
    mutating func moves(to folder: String?) { self.folder = folder ?? self.folder }

    mutating func isStarted() { startedIn = folder }

    /// Its process works in another folder than the next message asks for.
    var isElsewhere: Bool { startedIn != folder }

    func isKept(_ file: String) -> Bool { kept == PiChats.Place(file: file, folder: folder) }
    mutating func wasKept(_ file: String) { kept = PiChats.Place(file: file, folder: folder) }
    /// The next process begins a session of its own.
    mutating func forgetFile() { kept = PiChats.Place(file: nil, folder: folder) }

    func isSettled(_ run: RunID) -> Bool { chosen == run }

    mutating func asks(for run: RunID) { choosing = run }

    mutating func settled(_ run: RunID) { (choosing, chosen, deaths) = (nil, run, 0) }

    /// Another process has the model of its session file, or the one of its configuration. The prompt for which none is asked any more,
    /// because two ended over it.
    mutating func processEnded() -> RunID? {
        let asked = choosing
        (model, choosing, chosen) = (nil, nil, nil)
        deaths = asked == nil ? 0 : deaths + 1
        guard let asked, deaths >= 2 else { return nil }
        settled(asked)
        return asked
    }
}
