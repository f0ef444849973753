/// Where a chat's session of pi's is, and where its process works.
struct PiHome {
    /// As it was written down; its file is what the next process is started with.
    private(set) var kept: PiChats.Place
    /// Where the next process works; nil: where the settings say.
    private(set) var folder: String?
    /// Where the process works that was started last.
    private var startedIn: String?

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
}
