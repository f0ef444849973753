import AgentKit
package import Vocabulary

/// The core's spelling of the sessions that it named. A gateway accepts a bare or capital key and answers with the
/// canonical form (openclaw.md#session-keys); without this table an approval would match no turn.
package struct SessionNames {
    private static let limit = 1_000

    /// The session of a phone's chat, in canonical form (openclaw.md#session-keys), which is lower case.
    package static func session(of chat: SessionID) -> AgentSession {
        AgentSession("agent:main:sophon-\(ChatName.text(of: chat, isLower: true))")
    }

    private var spelt: Set<AgentSession> = []
    private var byCanonicalKey: [String: AgentSession] = [:]
    var defaultAgent = "main" {
        didSet {
            guard defaultAgent != oldValue else { return }
            byCanonicalKey.removeAll()
            for session in spelt { byCanonicalKey[canonical(session)] = session }
        }
    }

    mutating func learn(_ session: AgentSession) {
        if spelt.count >= Self.limit {
            spelt.removeAll()
            byCanonicalKey.removeAll()
        }
        guard spelt.insert(session).inserted else { return }
        byCanonicalKey[canonical(session)] = session
    }

    func ours(for session: AgentSession) -> AgentSession {
        if spelt.isEmpty || spelt.contains(session) { return session }
        return byCanonicalKey[canonical(session)] ?? session
    }

    private func canonical(_ session: AgentSession) -> String {
        let key = session.text.lowercased()
        return key.hasPrefix("agent:") ? key : "agent:\(defaultAgent):\(key)"
    }
}
