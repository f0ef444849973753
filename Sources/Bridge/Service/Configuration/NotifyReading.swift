package import BridgeCore
import ConfigurationFile
package import Vocabulary

/// Reads `notify`, the second channel to the person.
struct NotifyReading {
    private static let keys = ["command", "webhook", "token", "events", "waiting", "long", "quiet_hours"]

    /// Hosts in `plain`, beyond private networks, may be reached without encryption.
    func notify(
        _ top: ConfigurationSection, plain: [String], _ reader: inout ConfigurationReader
    ) -> Configuration.Notify {
        let section = reader.section(top["notify"], at: "notify", keys: Self.keys)
        var notify = Configuration.Notify()
        let command = reader.optional(
            "command", of: section, as: .words(atMost: 64, "a program and its arguments, at most 64 words"),
            environment: ["SOPHON_NOTIFY_COMMAND"])
        let webhook = reader.optional(
            "webhook", of: section, as: .webhook(plain: plain), environment: ["SOPHON_NOTIFY_WEBHOOK"])
        let token = reader.optional("token", of: section, as: .token, environment: ["SOPHON_NOTIFY_TOKEN"])
        notify.settings.events = Set(
            reader.value(
                "events", of: section, as: .noticeEvents, environment: [], else: Configuration.Notify.allEvents))
        notify.settings.waiting = reader.value(
            "waiting", of: section, as: .duration(.zero...(.seconds(24 * 3_600))), else: notify.settings.waiting)
        notify.settings.long = reader.value(
            "long", of: section, as: .duration(.zero...(.seconds(24 * 3_600))), else: notify.settings.long)
        notify.settings.quiet = reader.optional("quiet_hours", of: section, as: .quietHours)
        if command != nil, webhook != nil {
            reader.complain(
                section.path(of: "webhook"), found: "an address, and notify.command is set",
                expected: "one of the two",
                origin: section["webhook"].map(reader.origin) ?? .environment("SOPHON_NOTIFY_WEBHOOK"))
        }
        notify.command = command
        notify.webhook = webhook
        notify.token = token
        notify.settings.isOn = command != nil || webhook != nil
        return notify
    }
}

extension Configuration {
    package struct Notify: Hashable, Sendable {
        package static let allEvents: [NoticeEvent] = [.failed, .waiting, .stuck, .ended]

        package var settings = NoticeSettings()
        package var command: [String]?
        package var webhook: NoticeAddress?
        package var token: Secret?
        /// Variables that the program must not see.
        package var withheld: [String] = []

        package init() {}

        /// Recipient of notices, or nil if none is configured.
        package var recipient: NoticeRecipient? {
            if let command { return .command(command, withheld: withheld) }
            return webhook.map { .webhook($0, token: token) }
        }
    }
}

extension ValueForm where Value == NoticeAddress {
    /// Takes the forms of the relay's address, and a query besides: services read their templates from it.
    static func webhook(plain: [String]) -> Self {
        let form = ValueForm<WebAddress>.address([.https, .http], plain: plain)
        var webhook = Self { content throws(Complaint) in
            guard case .string(let text) = content else {
                throw Complaint("an address that begins with https:// or http://")
            }
            let head = text.prefix { $0 != "?" }
            guard !text.contains("@"), !text.contains("#") else {
                throw Complaint(
                    "an address without @ and #; secrets go into the key token",
                    found: "an address with credentials or a fragment (not shown)")
            }
            let address = try form.read(.string(String(head)))
            guard text.utf8.count > head.utf8.count else { return NoticeAddress(address) }
            let query = String(text[head.endIndex...].dropFirst())
            guard query.utf8.count <= 4_096, query.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw Complaint(
                    "a query of visible ASCII letters, the others as %XX",
                    found: "an address with other letters in its query (not shown)")
            }
            return NoticeAddress(address, query: query)
        } show: {
            .string($0.description)
        }
        webhook.hide = { $0.query.map { StableHash.text(of: $0) } }
        return webhook
    }
}

extension ValueForm where Value == [NoticeEvent] {
    static var noticeEvents: Self {
        let expected = "a list of one or more of failed, waiting, stuck and ended"
        let words = ValueForm<[String]>.words(atMost: 4, expected)
        return Self { content throws(Complaint) in
            let events = try words.read(content).map { NoticeEvent(rawValue: $0) }
            guard !events.contains(nil) else { throw Complaint(expected) }
            return events.compactMap(\.self)
        } show: { events in
            words.show(events.map(\.rawValue))
        }
    }
}

extension ValueForm where Value == QuietHours {
    static var quietHours: Self {
        Self { content throws(Complaint) in
            guard case .string(let text) = content, let hours = QuietHours(text) else {
                throw Complaint("two different hours of the day, such as \"22:00-07:00\"")
            }
            return hours
        } show: {
            .string($0.description)
        }
    }
}
