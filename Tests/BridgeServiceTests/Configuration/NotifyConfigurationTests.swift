import BridgeCore
import BridgeService
import ConfigurationFile
import Testing
import Vocabulary

@Suite("The configuration of notices")
struct NotifyConfigurationTests {
    private static func file(_ members: String) -> String { #"{"notify": {\#(members)}}"# }
    private static func notify(
        _ members: String, environment: [String: String] = [:]
    ) throws -> Configuration.Notify {
        try load(file(members), environment: environment).configuration.notify
    }

    @Test("without a program and a webhook nobody is sent anything")
    func defaults() throws {
        let usual = try load().configuration.notify
        #expect(usual.recipient == nil && !usual.settings.isOn)
        #expect(usual.settings.events == Set(NoticeEvent.allCases) && usual.settings.quiet == nil)
        #expect(usual.settings.waiting == .seconds(60) && usual.settings.long == .seconds(30))
    }

    @Test("all of it from the file")
    func file() throws {
        let notify = try Self.notify(
            #""command": ["apprise", "-c", "/etc/a b"], "events": ["waiting", "failed"], "waiting": "5m", "long": "0s", "quiet_hours": "22:00-07:00""#
        )
        #expect(notify.recipient == .command(["apprise", "-c", "/etc/a b"], withheld: notify.withheld))
        #expect(notify.settings.isOn && notify.settings.events == [.waiting, .failed])
        #expect(notify.settings.waiting == .seconds(300) && notify.settings.long == .zero)
        #expect(notify.settings.quiet?.description == "22:00-07:00")
    }

    @Test("its variables, and those that no program may see")
    func environment() throws {
        let named = try Self.notify("", environment: ["SOPHON_NOTIFY_COMMAND": "notify-me  --now"])
        #expect(named.command == ["notify-me", "--now"])
        let webhook = try Self.notify(
            #""token": "${NTFY_TOKEN}""#,
            environment: [
                "SOPHON_NOTIFY_WEBHOOK": "https://ntfy.example/topic?tpl=1&m=%7B%7B.message%7D%7D",
                "NTFY_TOKEN": "tk_1",
            ])
        #expect(webhook.webhook?.whole == "https://ntfy.example/topic?tpl=1&m=%7B%7B.message%7D%7D")
        #expect(webhook.token == Secret("tk_1") && webhook.withheld.contains("NTFY_TOKEN"))
        let token = try Self.notify("", environment: ["SOPHON_NOTIFY_TOKEN": "tk_2"])
        #expect(token.token == Secret("tk_2"))
    }

    @Test("neither the token nor the query of the address is shown")
    func shown() throws {
        let loaded = try load(
            Self.file(#""webhook": "http://127.0.0.1:8080/t?key=s3cret", "token": "tk_s3cret""#))
        let settings = Dictionary(uniqueKeysWithValues: loaded.settings.map { ($0.path, $0) })
        #expect(settings["notify.webhook"]?.shown == .value(.string("http://127.0.0.1:8080/t?***")))
        #expect(settings["notify.token"]?.shown == .secret)
        #expect(!"\(loaded.settings)".contains("s3cret"))
    }

    @Test(
        "a webhook is https, or http to this machine and private networks",
        arguments: ["http://127.0.0.1/t", "http://10.0.0.5:8080/t", "https://ntfy.sh/t", "http://localhost/t"])
    func addresses(text: String) throws { #expect(try Self.notify(#""webhook": "\#(text)""#).webhook?.whole == text) }

    @Test(
        "each of these is one fault",
        arguments: [
            (#""webhook": "http://ntfy.sh/t""#, "notify.webhook"), (#""webhook": "ntfy.sh/t""#, "notify.webhook"),
            (#""webhook": "wss://ntfy.sh/t""#, "notify.webhook"),
            (#""webhook": "https://me:s3cret@ntfy.sh/t""#, "notify.webhook"),
            (#""webhook": "https://ntfy.sh/t#s3cret""#, "notify.webhook"),
            (#""webhook": "https://ntfy.sh/t?m=s3cret é""#, "notify.webhook"), (#""webhook": 1"#, "notify.webhook"),
            (#""command": []"#, "notify.command"), (#""command": [1]"#, "notify.command"),
            (#""command": ["a"], "webhook": "https://ntfy.sh/t""#, "notify.webhook"),
            (#""token": "two words""#, "notify.token"), (#""events": []"#, "notify.events"),
            (#""events": ["ended", "begun"]"#, "notify.events"), (#""waiting": "25h""#, "notify.waiting"),
            (#""long": 30"#, "notify.long"), (#""quiet_hours": "22-7""#, "notify.quiet_hours"),
            (#""quiet_hours": "07:00-07:00""#, "notify.quiet_hours"), (#""event": []"#, "notify.event"),
        ])
    func faulty(members: String, path: String) {
        let found = faults(Self.file(members))
        #expect(found.map(\.path) == [path], "\(found)")
        #expect(!"\(found)".contains("s3cret"))
    }

    @Test("a running bridge takes all of it")
    func reload() throws {
        let old = try load(Self.file(#""webhook": "https://ntfy.sh/t?a=1", "token": "tk_1", "events": ["failed"]"#))
        let new = try load(
            Self.file(#""command": ["a"], "waiting": "2m", "long": "1m", "quiet_hours": "01:00-02:00""#))
        #expect(Reload.fixedKeys(from: old, to: new) == [])
    }
}
