/// How a double asks by a choice, and what the person of a world replies to it.
package enum ScriptedChoice {
    package static func title(_ id: String) -> String { "Run it for \(id)?" }
    package static func yes(_ id: String) -> String { "Run \(id)" }
    package static func no(_ id: String) -> String { "Drop \(id)" }
}
