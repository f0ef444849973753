import BridgeCore
import BridgeService
import Vocabulary

/// Outcomes of notices, for programs and for the log.
enum NoticeReport {
    /// Reports outcomes to programs; a failed try is for the log alone.
    static func tell(_ news: NoticeNews, of name: ConnectionName, _ output: Output) {
        switch news {
        case .told(let id, let event, let tries): tell(id, event, "told", tries, name, output)
        case .dropped(let id, let event, let tries, _): tell(id, event, "dropped", tries, name, output)
        case .failed: break
        }
    }

    private static func tell(
        _ id: String, _ event: NoticeEvent, _ outcome: String, _ tries: Int, _ name: ConnectionName, _ output: Output
    ) {
        output.event(
            "notified",
            [
                ("connection", .string(name.text)), ("id", .string(id)), ("notice", .string(event.rawValue)),
                ("outcome", .string(outcome)), ("tries", .number(tries)),
            ])
    }

    static func log(_ news: NoticeNews, of name: ConnectionName, _ log: Log) {
        switch news {
        case .told(let id, let event, let tries):
            log.debug("a notice was delivered", fields(name, id, event) + [("tries", .integer(tries))])
        case .failed(let id, let event, let reason, let wait):
            log.warning(
                "a notice was not delivered",
                fields(name, id, event) + [("reason", .text(reason)), ("retry_in", .duration(wait))])
        case .dropped(let id, let event, let tries, let reason):
            log.warning(
                "a notice was dropped",
                fields(name, id, event) + [("reason", .text(reason)), ("tries", .integer(tries))])
        }
    }

    private static func fields(_ name: ConnectionName, _ id: String, _ event: NoticeEvent) -> Log.Fields {
        [("connection", .text(name.text)), ("id", .text(id)), ("event", .text(event.rawValue))]
    }
}
