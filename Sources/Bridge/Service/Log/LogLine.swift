import Glibc
import Vocabulary

/// A line before it gets a time.
struct LogLine: Hashable {
    struct Field: Hashable {
        var name: String
        var value: LogValue
    }

    var level: Configuration.Log.Level
    var message: String
    var fields: [Field]

    /// Form for people: time, level, message, and the fields as `name=value`.
    func text(at wallMilliseconds: Int64, hasColor: Bool) -> String {
        let time = ISOTime.text(wallMilliseconds)
        let word = level.rawValue + String(repeating: " ", count: max(0, 7 - level.rawValue.count))
        let values = fields.map { " \($0.name)=\($0.value.words)" }.joined()
        guard hasColor else { return "\(time) \(word) \(message)\(values)" }
        let dim = "\u{1B}[2m"
        let plain = "\u{1B}[0m"
        return "\(dim)\(time)\(plain) \(level.color)\(word)\(plain) \(message)\(dim)\(values)\(plain)"
    }

    /// Form for programs: `ts`, `level`, `message`, then the fields, each under its own name.
    func json(at wallMilliseconds: Int64) -> String {
        var line = #"{"ts":"# + JSONText.string(ISOTime.text(wallMilliseconds)).text
        line += #","level":"\#(level.rawValue)","message":"# + JSONText.string(message).text
        for field in fields { line += "," + JSONText.string(field.name).text + ":" + field.value.json.text }
        return String(decoding: TerminalText.document(Array((line + "}").utf8)), as: UTF8.self)
    }
}

extension Configuration.Log.Level {
    fileprivate var color: String {
        switch self {
        case .error: "\u{1B}[31m"
        case .warning: "\u{1B}[33m"
        case .info: "\u{1B}[32m"
        case .debug: "\u{1B}[36m"
        }
    }

    /// The priority of syslog(3).
    var priority: Int32 {
        switch self {
        case .error: LOG_ERR
        case .warning: LOG_WARNING
        case .info: LOG_INFO
        case .debug: LOG_DEBUG
        }
    }

    /// `error` has the lowest rank and is always logged, `debug` has the highest.
    var rank: Int {
        switch self {
        case .error: 0
        case .warning: 1
        case .info: 2
        case .debug: 3
        }
    }
}

/// Moments for people and programs: `2026-11-21T08:41:23.005Z`.
package enum ISOTime {
    package static func text(_ wallMilliseconds: Int64) -> String {
        let milliseconds = ((wallMilliseconds % 1_000) + 1_000) % 1_000
        var seconds = time_t((wallMilliseconds - milliseconds) / 1_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let date = "\(parts.tm_year + 1_900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
        let time = "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
        return "\(date)T\(time).\(milliseconds < 10 ? "00" : milliseconds < 100 ? "0" : "")\(milliseconds)Z"
    }

    private static func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
