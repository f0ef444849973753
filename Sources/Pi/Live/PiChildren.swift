import AgentKit
import BridgeModel

/// Which child is which chat's, and the chats that wait for room, oldest first.
struct PiChildren {
    private var sessions: [ChannelID: AgentSession] = [:]
    private var channels: [AgentSession: ChannelID] = [:]
    private var line: [AgentSession] = []
    private var channelCount = 0
    private var workCount = 0

    var count: Int { sessions.count }
    var all: [ChannelID] { sessions.keys.sorted { $0.number < $1.number } }
    var lineLength: Int { line.count }
    var hasLine: Bool { !line.isEmpty }

    func session(on channel: ChannelID) -> AgentSession? { sessions[channel] }
    func channel(of session: AgentSession) -> ChannelID? { channels[session] }

    mutating func begin(_ session: AgentSession) -> ChannelID {
        channelCount += 1
        let channel = ChannelID(channelCount)
        sessions[channel] = session
        channels[session] = channel
        return channel
    }

    mutating func ended(_ channel: ChannelID) {
        guard let session = sessions.removeValue(forKey: channel), channels[session] == channel else { return }
        channels[session] = nil
    }

    mutating func nextWork() -> WorkID {
        workCount += 1
        return WorkID(workCount)
    }

    mutating func queue(_ session: AgentSession) { if !line.contains(session) { line.append(session) } }
    mutating func takeFirstInLine() -> AgentSession? { line.isEmpty ? nil : line.removeFirst() }
    mutating func forgetLine() { line = [] }
}
