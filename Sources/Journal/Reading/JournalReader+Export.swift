package import BridgeModel
import CSQLite
import FoundationEssentials

extension JournalReader {
    /// Every row as a JSON object on a line of its own, with the name of its table. What is no UTF-8 is given as
    /// `{"base64": …}`. Not a copy to go on from, but all that was said: it may hold what the user wrote.
    package func export(_ line: (String) -> Void) throws(JournalFailure) {
        try reading { () throws(DatabaseError) in
            for table in ["meta", "turns", "messages", "calls", "tries", "folds", "events", "stops", "settings"] {
                try database.rows("SELECT * FROM \(table)") { row throws(DatabaseError) in
                    line(Self.object(of: row, table))
                }
            }
        }
    }

    private static func object(of row: Row, _ table: String) -> String {
        var text = #"{"table":"# + JSONText.string(table).text
        for column in 0..<row.count {
            text += "," + JSONText.string(row.name(column)).text + ":" + value(of: row, column)
        }
        return text + "}"
    }

    private static func value(of row: Row, _ column: Int) -> String {
        switch row.type(column) {
        case SQLITE_NULL: return "null"
        case SQLITE_INTEGER: return String(row.integer(column))
        default:
            let bytes = row.bytes(column)
            if let text = String(validating: bytes, as: UTF8.self) { return JSONText.string(text).text }
            return #"{"base64":"# + JSONText.string(Data(bytes).base64EncodedString()).text + "}"
        }
    }
}
