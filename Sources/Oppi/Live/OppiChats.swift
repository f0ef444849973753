import AgentKit
import BridgeModel

/// The chats by their agent session, and whose each channel is. A channel number is used once.
struct OppiChats {
    private var all: [AgentSession: OppiChat] = [:]
    private var sessions: [ChannelID: AgentSession] = [:]
    private var channels: [AgentSession: ChannelID] = [:]
    private var natives: [String: AgentSession] = [:]
    private var mark = ""
    private var lastChannel = OppiMachine.mainChannel.number

    subscript(session: AgentSession) -> OppiChat? { all[session] }
    var sorted: [AgentSession] { all.keys.sorted() }
    var nextDeadline: Instant? { all.values.compactMap(\.nextDeadline).min() }

    func due(at now: Instant) -> [AgentSession] {
        all.filter { $0.value.nextDeadline.map { $0 <= now } ?? false }.keys.sorted()
    }

    func session(toWrite run: RunID) -> AgentSession? { all.first { $0.value.isToWrite(run) }?.key }
    func session(on channel: ChannelID) -> AgentSession? { sessions[channel] }
    func channel(of session: AgentSession) -> ChannelID? { channels[session] }
    func session(of native: String) -> AgentSession? { natives[native] }

    mutating func begin(_ facts: [Fact], mark: String) {
        self.mark = mark
        for fact in facts where fact.name.hasPrefix(OppiPlace.factPrefix) {
            let session = AgentSession(String(fact.name.dropFirst(OppiPlace.factPrefix.count)))
            all[session] = OppiChat(session, fact.value.flatMap { OppiPlace($0) }, mark: mark)
            index(session)
        }
    }

    mutating func change(_ session: AgentSession, _ body: (inout OppiChat) -> [OppiChat.Order]) -> [OppiChat.Order] {
        defer { index(session) }
        return body(&all[session, default: OppiChat(session, nil, mark: mark)])
    }

    private mutating func index(_ session: AgentSession) {
        guard let native = all[session]?.place?.native, natives[native] != session else { return }
        natives[native] = session
    }

    mutating func forgetPlace(of session: AgentSession) {
        natives = natives.filter { $0.value != session || $0.key == all[session]?.place?.native }
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
