import Vocabulary

/// Settings for the answers to the bridge's own words.
package struct OwnWordSettings: Hashable, Sendable {
    /// The agent's name in sentences.
    package var agent = "the agent"
    package var version = ""
    /// Nil if the agent has no use for workspaces.
    package var workspaces: Workspaces?

    package init() {}
}

/// Facts for the answer to a word.
struct OwnWordSituation: Hashable, Sendable {
    var isPresent = true
    /// How a person can make an absent agent reachable.
    var remedy: String?
    /// A run continues in the chat; `waiting` counts the messages behind it.
    var isBusy = false
    var waiting = 0
    /// The workspace of the chat, or nil if it is the default one.
    var workspace: String?
    /// The states of all chats, most urgent first.
    var chats: [ChatStanding] = []
}

/// The answers. They are pure, so that a word that is answered twice is answered alike.
enum OwnWordAnswers {
    static let help = """
        /bridge new [WORKSPACE] begins a new conversation with the agent in this chat, once its run has ended.
        /bridge workspaces lists the folders that agents work in.
        /bridge status says how the bridge and the agent are, and what goes on in all chats.
        /bridge stop stops the run in this chat.
        /bridge no WORDS refuses the newest approval of this chat, and tells the agent what to do instead.
        /bridge asks shows what waits for your answer, in all chats.
        /bridge help shows this.
        stop, abort or /stop alone, while a run goes on in this chat, stops it.
        Everything else goes to the agent.
        """

    static let stopped = "The run in this chat is stopped."

    static let nothingToStop = "Nothing runs in this chat."

    static func help(unknown: String?) -> String {
        guard let unknown else { return help }
        let shown = TextCut.marked(unknown, atMost: 80)
        return "The bridge does not know \u{201C}\(shown)\u{201D}.\n\n\(help)"
    }

    static func workspaces(_ settings: OwnWordSettings, _ situation: OwnWordSituation) -> String {
        guard let workspaces = settings.workspaces else { return noWorkspaces(settings) }
        let own = workspaces[situation.workspace]
        let lines = workspaces.all.map { workspace in
            var marks: [String] = []
            if workspace == own { marks.append("this chat") }
            if workspace == workspaces.standard, workspaces.all.count > 1 { marks.append("default") }
            return "- \(workspace.words)\(marks.isEmpty ? "" : ": \(marks.joined(separator: ", "))")"
        }
        let gone = own == nil ? ["", missing(situation.workspace ?? "")] : []
        return (lines + gone).joined(separator: "\n")
    }

    static func status(_ settings: OwnWordSettings, _ situation: OwnWordSituation) -> String {
        var lines: [String] = []
        if situation.isPresent {
            lines.append("Connected to \(settings.agent).")
        } else {
            let remedy = situation.remedy.map { " \($0)" } ?? ""
            lines.append("There is no connection to \(settings.agent).\(remedy)")
        }
        let others = situation.waiting == 1 ? "1 message waits" : "\(situation.waiting) messages wait"
        switch (situation.isBusy, situation.waiting) {
        case (true, 0): lines.append("A run goes on in this chat.")
        case (true, _): lines.append("A run goes on in this chat, and \(others).")
        case (false, 0): lines.append("Nothing runs in this chat.")
        case (false, _): lines.append("In this chat \(others).")
        }
        if let workspaces = settings.workspaces {
            let own = workspaces[situation.workspace]
            lines.append(own.map { "Workspace: \($0.words)." } ?? missing(situation.workspace ?? ""))
        }
        lines += chats(situation.chats)
        if !settings.version.isEmpty { lines.append("sophon-bridge \(settings.version)") }
        return lines.joined(separator: "\n")
    }

    private static func chats(_ chats: [ChatStanding]) -> [String] {
        guard !chats.isEmpty else { return ["Nothing goes on in any chat."] }
        let lines = chats.prefix(chatLimit).map { "- \($0.place): \($0.state)" }
        return ["In all chats:"] + lines
            + (chats.count > chatLimit ? ["- and \(chats.count - chatLimit) more"] : [])
    }

    private static let chatLimit = 20

    /// No word of another chat appears: that chat may be sealed under another key.
    static func asks(_ asks: [OpenAsk], in chat: SessionID, clock: LocalTime?, comeBack: Bool = true, at now: Instant)
        -> String
    {
        guard !asks.isEmpty else { return "Nothing waits for your answer." }
        let lines = asks.prefix(askLimit).map { ask in
            let place = ask.chat == chat ? "in this chat" : "in chat \(VisibleText.line(ask.chat.text))"
            let end = ask.until.flatMap { clock?.hour(of: $0) }.map { "; the agent waits until \($0)" } ?? ""
            return "- \(place), for \(age(now - ask.since))\(end)"
        }
        let more = asks.count > askLimit ? ["- and \(asks.count - askLimit) more"] : []
        let hasUnshown = asks.contains { !$0.isOnPhone }
        let end =
            comeBack
            ? "What has no card is shown again now, as far as the hour's limit goes."
            : "There is no connection to the agent: what has no card is shown again when it is back."
        return (["Waiting for your answer:"] + lines + more + (hasUnshown ? [end] : []))
            .joined(separator: "\n")
    }

    private static let askLimit = 20

    private static func age(_ duration: Duration) -> String {
        let minutes = max(0, duration.components.seconds / 60)
        switch minutes {
        case 0: return "less than a minute"
        case 1: return "1 minute"
        case 2..<120: return "\(minutes) minutes"
        default: return "\(minutes / 60) hours"
        }
    }

    /// The answer to `/bridge new`.
    static func new(_ settings: OwnWordSettings, _ workspace: Workspace?) -> String {
        guard let workspace else { return "The next message begins a new conversation with \(settings.agent)." }
        return "The next message begins a new conversation with \(settings.agent) in the workspace \(workspace.words)."
    }

    static let ofRuns =
        "This chat shows runs that the agent begins by itself, so no new conversation can be begun in it. Begin another chat instead."

    static func noWorkspaces(_ settings: OwnWordSettings) -> String {
        "\(settings.agent.capitalisedFirst) works where it was set up to work: the bridge has no workspaces for it."
    }

    static func unknown(_ workspace: String, _ workspaces: Workspaces) -> String {
        let names = workspaces.all.compactMap(\.name)
        let shown = TextCut.marked(workspace, atMost: 80)
        let known =
            names.isEmpty
            ? "the configuration names none" : "there is \(names.joined(separator: ", "))"
        return "There is no workspace \u{201C}\(shown)\u{201D}; \(known). Nothing has changed."
    }

    /// The workspace that a chat is bound to is no longer configured.
    static func missing(_ workspace: String) -> String {
        "The workspace \(TextCut.marked(workspace, atMost: 80)) of this chat is not configured any more. \u{201C}/bridge new\u{201D} begins a new conversation in another one."
    }
}

extension String {
    fileprivate var capitalisedFirst: String { prefix(1).uppercased() + dropFirst() }
}
