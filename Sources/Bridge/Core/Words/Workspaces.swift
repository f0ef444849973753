package import Vocabulary

/// A folder in which agents work for chats.
package struct Workspace: Hashable, Sendable {
    /// Nil if the configuration names none, and this one is for all chats.
    package var name: String?
    /// The folder as configured, from the root. Before each message the bridge checks that it exists.
    package var folder: String

    package init(name: String? = nil, folder: String) {
        self.name = name
        self.folder = folder
    }

    var words: String { name.map { "\($0) (\(folder))" } ?? folder }
}

/// The folders in which the sessions of an agent may work. No session is begun outside of them.
package struct Workspaces: Hashable, Sendable {
    /// The workspace of chats that name none.
    package var standard: Workspace
    package var others: [Workspace]

    package init(standard: Workspace, others: [Workspace] = []) {
        self.standard = standard
        self.others = others
    }

    package var all: [Workspace] { [standard] + others }

    /// The workspace of that name, or the default one without a name. Nil if it is not configured, or no longer.
    package subscript(name: String?) -> Workspace? {
        guard let name else { return standard }
        return all.first { $0.name == name }
    }

    /// Finds a name whose letters differ in case from the configured ones, if that is clear: phones write capitals by themselves.
    func named(_ written: String) -> Workspace? {
        if let exact = self[written] { return exact }
        let near = all.filter { $0.name?.lowercased() == written.lowercased() }
        return near.count == 1 ? near.first : nil
    }
}

/// A chat's own agent session, which `/bridge new` replaces, and the workspace in which it works.
package struct ChatHome: Hashable, Sendable {
    /// The plug-in's name for the session of this chat. If that name has changed, as with another agent, the home is of no use.
    package var base: AgentSession
    package var session: AgentSession
    /// Nil if the chat works in the default one.
    package var workspace: String?

    package init(base: AgentSession, session: AgentSession, workspace: String? = nil) {
        self.base = base
        self.session = session
        self.workspace = workspace
    }

    /// The session has the plug-in's name for the chat, or one that an earlier `/bridge new` made of that.
    func isNamed(_ session: AgentSession) -> Bool { session == base || session.text.hasPrefix("\(base)-") }

    /// The new session is named after the turn that asked for it, so that a repetition after a crash leads to the same session.
    func renewed(by turn: TurnID, in workspace: String?) -> ChatHome {
        let mark = StableHash.text(of: turn.text, length: 12).lowercased()
        return ChatHome(base: base, session: AgentSession("\(base)-\(mark)"), workspace: workspace)
    }
}

/// The homes of chats that have one.
///
/// Invariant: a changed home is ordered to be kept before any turn that follows from it.
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

    /// The chat is gone.
    mutating func forget(_ chat: SessionID) {
        ofRuns.remove(chat)
        if homes.removeValue(forKey: chat) != nil { unwritten.insert(chat) }
    }

    /// Forgets all homes. Returns the chats of which something was known, for the caller to delete from the journal.
    mutating func forgetAll() -> Set<SessionID> {
        defer { (homes, unwritten, ofRuns) = ([:], [], []) }
        return unwritten.union(homes.keys)
    }

    mutating func isOfRuns(_ chat: SessionID) { ofRuns.insert(chat) }
    mutating func wasNotWritten(_ chat: SessionID) { unwritten.insert(chat) }

    var hasUnwritten: Bool { !unwritten.isEmpty }

    /// Homes to write. Nil deletes the home of its chat.
    mutating func takeUnwritten() -> [(chat: SessionID, home: ChatHome?)] {
        defer { unwritten = [] }
        return unwritten.sorted().map { ($0, homes[$0]) }
    }
}
