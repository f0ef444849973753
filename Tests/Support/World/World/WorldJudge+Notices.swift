import BridgeCore
import Vocabulary

// Notices as their recipient has them.
extension WorldJudge {
    mutating func judgeNotices(_ index: Int, _ side: WorldSide, _ run: WorldRun) {
        guard plan.hasNotices else { return }
        let notices = side.notices
        if notices.mostUnderWay > 1 { violation("\(notices.mostUnderWay) notices were tried at once", run) }
        var events: [String: String] = [:]
        for got in notices.got {
            judgeWords(got.body, index, run)
            guard let id = Self.text("id", in: got.body), let event = Self.text("event", in: got.body) else {
                violation("a notice without an id or an event: \(got.body)", run)
                continue
            }
            if let other = events.updateValue(event, forKey: id), other != event {
                violation("the notice \(id) is about \(other) and about \(event)", run)
            }
        }
    }

    /// In a world with sealed chats every chat is sealed.
    private mutating func judgeWords(_ body: String, _ index: Int, _ run: WorldRun) {
        guard plan.sealing != nil else { return }
        let secrets = plan.messages.filter { $0.side == index }.flatMap { message in
            [message.text, "\(message.script.name)w"] + (message.second.map { [WorldRun.question($0)] } ?? [])
        }
        for secret in secrets + ["reboot", WorldRun.fresh(index)] where body.contains(secret) {
            violation("a notice holds words of a sealed chat: \(body)", run)
        }
        if !body.contains("\"sealed\":true") || body.contains("\"chat\":") || body.contains("\"wants\":") {
            violation("a notice of a sealed chat does not look like one: \(body)", run)
        }
    }

    private static func text(_ name: String, in body: String) -> String? {
        let parts = body.split(separator: "\"\(name)\":\"", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count == 2 ? parts[1].split(separator: "\"").first.map(String.init) : nil
    }
}

extension WorldPlan {
    /// A separate generator, so other worlds stay as they were.
    mutating func drawNotices() {
        var random = SeededGenerator(seed: seed ^ 0x6E6F_7469)
        hasNotices = random.happens(sealing == nil ? 0.1 : 0.5)
    }
}

extension WorldRun {
    func prepareNotices() {
        guard plan.hasNotices else { return }
        for side in world.sides {
            var settings = NoticeSettings()
            (settings.waiting, settings.long, settings.presence) = (.milliseconds(300), .zero, .zero)
            side.noticeSettings = settings
            side.notices.mood = { $0.happens(0.7) ? .takes : $0.pick(VirtualNotices.Mood.allCases) }
        }
    }
}
