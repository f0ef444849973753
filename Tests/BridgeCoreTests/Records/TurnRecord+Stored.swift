import FoundationEssentials

@testable import BridgeCore

extension TurnRecord {
    /// The record as another process reads it.
    var stored: TurnRecord {
        do { return try JSONDecoder().decode(Self.self, from: JSONEncoder().encode(self)) } catch {
            fatalError("a record is always readable: \(error)")
        }
    }
}
