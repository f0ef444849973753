import AgentKit
import Vocabulary

/// Chats with something to do, the places of all others, and the chat of each channel. A channel number is used once.
///
/// A chat at rest costs only its place, and no check per frame: there may be many.
struct OppiChats {
    private var awake: [AgentSession: OppiChat] = [:]
    private var resting: [AgentSession: OppiPlace] = [:]
    private var sessions: [ChannelID: AgentSession] = [:]
    private var channels: [AgentSession: ChannelID] = [:]
    private var natives: [String: AgentSession] = [:]
    /// Part of the names of runs that no prompt began, so that no other process of the
    /// bridge, and no later life of a chat, uses the same ones.
    private var mark = ""
    private var wakings = 0
    private var lastChannel = OppiMachine.mainChannel.number

    /// The chat, or nil if it is at rest or unknown.
    subscript(session: AgentSession) -> OppiChat? { awake[session] }
    /// Chats with something to do, sorted.
    var sorted: [AgentSession] { awake.keys.sorted() }
    /// The next deadline on the reading clock.
    var nextDeadline: Instant? { awake.values.compactMap(\.nextDeadline).min() }
    /// The next expiry of a dialog, on the host's clock.
    var nextExpiry: Instant? { awake.values.compactMap(\.dialogs.nextExpiry).min() }

    func due(_ now: Occasion) -> [AgentSession] {
        let due = awake.filter { _, chat in
            chat.nextDeadline.map { $0 <= now.read } == true || chat.dialogs.nextExpiry.map { $0 <= now.now } == true
        }
        return due.keys.sorted()
    }

    func place(of session: AgentSession) -> OppiPlace? { awake[session]?.place ?? resting[session] }
    /// Chats at rest with the newest prompts, the newest last.
    func newestAtRest(_ count: Int) -> [AgentSession] {
        resting.sorted { ($0.value.sentAt, $0.key) < ($1.value.sentAt, $1.key) }.suffix(count).map(\.key)
    }

    func session(toWrite run: RunID) -> AgentSession? { awake.first { $0.value.isToWrite(run) }?.key }
    func session(on channel: ChannelID) -> AgentSession? { sessions[channel] }
    func channel(of session: AgentSession) -> ChannelID? { channels[session] }
    func session(of native: String) -> AgentSession? { natives[native] }

    mutating func begin(_ facts: [Fact], mark: String) {
        self.mark = mark
        for fact in facts where fact.name.hasPrefix(OppiPlace.factPrefix) {
            guard let place = fact.value.flatMap({ OppiPlace($0) }) else { continue }
            let session = AgentSession(String(fact.name.dropFirst(OppiPlace.factPrefix.count)))
            resting[session] = place
            natives[place.native] = session
        }
    }

    mutating func change(_ session: AgentSession, _ body: (inout OppiChat) -> [OppiChat.Order]) -> [OppiChat.Order] {
        let known = place(of: session)?.native
        var chat = awake.removeValue(forKey: session) ?? wake(session)
        defer {
            if known != chat.place?.native {
                // Frames of the former session no longer concern this chat.
                if let known, natives[known] == session { natives[known] = nil }
                if let native = chat.place?.native { natives[native] = session }
            }
            if chat.isAtRest { resting[session] = chat.place } else { awake[session] = chat }
        }
        return body(&chat)
    }

    private mutating func wake(_ session: AgentSession) -> OppiChat {
        wakings += 1
        return OppiChat(session, resting.removeValue(forKey: session), mark: "\(mark)-\(wakings)")
    }

    mutating func opens(_ session: AgentSession) -> ChannelID {
        lastChannel += 1
        let channel = ChannelID(lastChannel)
        sessions[channel] = session
        channels[session] = channel
        return channel
    }

    mutating func ended(_ channel: ChannelID) {
        guard let session = sessions.removeValue(forKey: channel), channels[session] == channel else { return }
        channels[session] = nil
    }
}
