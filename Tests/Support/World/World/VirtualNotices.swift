import BridgeCore
import BridgeService
package import Vocabulary

/// A recipient of notices in a world. As outside, a notice arrives even if the process dies meanwhile, and an answer
/// reaches only the process that waits for it.
package final class VirtualNotices: @unchecked Sendable {
    package enum Mood: Sendable, CaseIterable {
        case takes, refuses
        /// The recipient has the notice, and the answer is lost.
        case takesUnheard
        /// Holds the connection until the call times out.
        case hangs
    }

    package struct Got: Sendable {
        package var body: String
        package var at: Instant
        package var isTaken: Bool
    }

    package private(set) var got: [Got] = []
    /// Mood for the next notice.
    package var mood: (inout SeededGenerator) -> Mood = { _ in .takes }
    /// Notices without an answer so far.
    package private(set) var underWay = 0
    /// Most notices under way at once.
    package private(set) var mostUnderWay = 0
    /// Words of the newest message in its chats.
    var words: () -> String? = { nil }
    private let time: VirtualTime
    private var random: SeededGenerator
    private static let callLimit = Duration.seconds(10)

    init(_ time: VirtualTime, seed: UInt64) {
        self.time = time
        random = SeededGenerator(seed: seed)
    }

    func parts(_ settings: NoticeSettings, agent: String, _ isAlive: @escaping @Sendable () -> Bool)
        -> LiveNotices.Parts
    {
        underWay = 0
        let time = time
        var parts = LiveNotices.Parts { VirtualAlarm(time, isAlive: isAlive) }
        parts.settings = settings
        parts.settings.isOn = true
        parts.recipient = .command(["notify"], withheld: [])
        parts.agent = agent
        parts.host = "world"
        parts.port = Port(self, isAlive)
        return parts
    }

    private final class Port: NoticePort, @unchecked Sendable {
        private let notices: VirtualNotices
        private let isAlive: () -> Bool

        init(_ notices: VirtualNotices, _ isAlive: @escaping () -> Bool) {
            self.notices = notices
            self.isAlive = isAlive
        }

        func tell(
            _ body: [UInt8], to recipient: NoticeRecipient, completion: @escaping @Sendable (NoticeAnswer) -> Void
        ) {
            guard isAlive() else { return }
            let mood = notices.mood(&notices.random)
            let way = Duration.milliseconds(Int64.random(in: 1...60, using: &notices.random))
            notices.underWay += 1
            notices.mostUnderWay = max(notices.mostUnderWay, notices.underWay)
            let text = CoreFaults.notice(String(decoding: body, as: UTF8.self), words: notices.words())
            notices.time.after(way) { [self] in
                let isTaken = mood == .takes || mood == .takesUnheard
                notices.got.append(Got(body: text, at: notices.time.now, isTaken: isTaken))
            }
            let answer: NoticeAnswer = mood == .takes ? .told : .failed(reason: "the recipient did not take it")
            notices.time.after(mood == .hangs ? VirtualNotices.callLimit : way * 2) { [self] in
                guard isAlive() else { return }
                notices.underWay -= 1
                completion(answer)
            }
        }
    }
}
