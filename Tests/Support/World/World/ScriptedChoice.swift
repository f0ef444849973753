/// How a double asks a question with options, and how the person of a world replies.
package enum ScriptedChoice {
    package static func title(_ id: String) -> String { "Run it for \(id)?" }
    package static func yes(_ id: String) -> String { "Run \(id)" }
    package static func no(_ id: String) -> String { "Drop \(id)" }
}
