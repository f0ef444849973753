import AgentKit
import Vocabulary

/// Child and chat by each other, and the idle children that the host knows of.
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

    /// A channel without a chat.
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

    /// False if the host knows it already. A changed start time alone is no news.
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

    /// False if the host knows it already.
    mutating func isIdle(_ channel: ChannelID, _ isIdle: Bool) -> Bool {
        guard isIdle != idle.contains(channel) else { return false }
        if isIdle { idle.insert(channel) } else { idle.remove(channel) }
        return true
    }
}
