package import Vocabulary

/// A folder in which agents work for chats.
package struct Workspace: Hashable, Sendable {
    /// Nil: the configuration names none, and this one is for all chats.
    package var name: String?
    /// As configured, from the root. Whether it is there is looked at before each message.
    package var folder: String

    package init(name: String? = nil, folder: String) {
        self.name = name
        self.folder = folder
    }

    var words: String { name.map { "\($0) (\(folder))" } ?? folder }
}

/// The folders in which the sessions of an agent may work. No session is begun outside of them.
package struct Workspaces: Hashable, Sendable {
    /// For chats that name none.
    package var standard: Workspace
    package var others: [Workspace]

    package init(standard: Workspace, others: [Workspace] = []) {
        self.standard = standard
        self.others = others
    }

    package var all: [Workspace] { [standard] + others }

    /// Nil for the name: the default one. Nil for the answer: it is not configured, or not any more.
    package subscript(name: String?) -> Workspace? {
        guard let name else { return standard }
        return all.first { $0.name == name }
    }

    /// With another case of letters than was configured, where that is clear: phones write capitals by themselves.
    func named(_ written: String) -> Workspace? {
        if let exact = self[written] { return exact }
        let near = all.filter { $0.name?.lowercased() == written.lowercased() }
        return near.count == 1 ? near.first : nil
    }
}

/// What a chat has of its own: since `/bridge new` another session of the agent's, and the workspace that it works in.
package struct ChatHome: Hashable, Sendable {
    /// What the plug-in calls the session of this chat. Where that is another one now, as with another agent, this is of no use.
    package var base: AgentSession
    package var session: AgentSession
    /// Nil: the default one.
    package var workspace: String?

    package init(base: AgentSession, session: AgentSession, workspace: String? = nil) {
        self.base = base
        self.session = session
        self.workspace = workspace
    }

    /// The plug-in's name for it, or one that an earlier `/bridge new` made of that.
    func isNamed(_ session: AgentSession) -> Bool { session == base || session.text.hasPrefix("\(base)-") }

    /// By the name of the turn that asked for it: carried out again after a crash, it is the same session.
    func renewed(by turn: TurnID, in workspace: String?) -> ChatHome {
        let mark = StableHash.text(of: turn.text, length: 12).lowercased()
        return ChatHome(base: base, session: AgentSession("\(base)-\(mark)"), workspace: workspace)
    }
}

/// The homes of chats that have one.
///
/// Invariant: what has changed is ordered to be kept before any turn that follows from it.
struct ChatHomes: Sendable {
    private var homes: [SessionID: ChatHome] = [:]
    private var unwritten: Set<SessionID> = []
    /// Chats that were made for runs of the agent's own, and lead back to their session.
    private(set) var ofRuns: Set<SessionID> = []

    subscript(chat: SessionID) -> ChatHome? { homes[chat] }

    mutating func restore(_ home: ChatHome, of chat: SessionID) { homes[chat] = home }

    mutating func set(_ home: ChatHome, of chat: SessionID) {
        guard homes[chat] != home else { return }
        homes[chat] = home
        unwritten.insert(chat)
    }

    /// The chat is gone. False: nothing was known of it.
    mutating func forget(_ chat: SessionID) {
        ofRuns.remove(chat)
        if homes.removeValue(forKey: chat) != nil { unwritten.insert(chat) }
    }

    /// The chats of which something was known; the caller writes it down.
    mutating func forgetAll() -> Set<SessionID> {
        defer { (homes, unwritten, ofRuns) = ([:], [], []) }
        return unwritten.union(homes.keys)
    }

    mutating func isOfRuns(_ chat: SessionID) { ofRuns.insert(chat) }
    mutating func wasNotWritten(_ chat: SessionID) { unwritten.insert(chat) }

    var hasUnwritten: Bool { !unwritten.isEmpty }

    /// Nil: it is to be forgotten.
    mutating func takeUnwritten() -> [(chat: SessionID, home: ChatHome?)] {
        defer { unwritten = [] }
        return unwritten.sorted().map { ($0, homes[$0]) }
    }
}
