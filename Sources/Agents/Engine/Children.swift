import AgentKit
import Vocabulary

/// Which child is which chat's, and which of them the host knows to be idle.
struct Children {
    private var sessions: [ChannelID: AgentSession] = [:]
    private var channels: [AgentSession: ChannelID] = [:]
    private var idle: Set<ChannelID> = []
    private var waiting: [ChannelID: WaitingChat] = [:]
    private var channelCount = 0
    private var workCount = 0

    var all: [ChannelID] { sessions.keys.sorted { $0.number < $1.number } }

    func session(on channel: ChannelID) -> AgentSession? { sessions[channel] }
    func channel(of session: AgentSession) -> ChannelID? { channels[session] }

    mutating func begin(_ session: AgentSession) -> ChannelID {
        let channel = next()
        sessions[channel] = session
        channels[session] = channel
        return channel
    }

    /// A channel that is no chat's.
    mutating func next() -> ChannelID {
        channelCount += 1
        return ChannelID(channelCount)
    }

    mutating func ended(_ channel: ChannelID) {
        idle.remove(channel)
        waiting[channel] = nil
        guard let session = sessions.removeValue(forKey: channel), channels[session] == channel else { return }
        channels[session] = nil
    }

    /// False: the host knows already. A wait keeps the time at which it was told first.
    mutating func asks(_ channel: ChannelID, _ chat: WaitingChat?) -> Bool {
        let known = waiting[channel]
        waiting[channel] = chat
        guard let known, let chat else { return known != nil || chat != nil }
        return known.session != chat.session || known.work != chat.work
    }

    mutating func nextWork() -> WorkID {
        workCount += 1
        return WorkID(workCount)
    }

    /// False: the host knows already.
    mutating func isIdle(_ channel: ChannelID, _ isIdle: Bool) -> Bool {
        guard isIdle != idle.contains(channel) else { return false }
        if isIdle { idle.insert(channel) } else { idle.remove(channel) }
        return true
    }
}
