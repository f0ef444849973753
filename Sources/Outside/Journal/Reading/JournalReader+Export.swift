import CSQLite
import FoundationEssentials
package import Vocabulary

extension JournalReader {
    private static let tables: [(name: String, key: [String])] = [
        ("meta", ["name"]), ("turns", ["rowid"]), ("parts", ["rowid"]), ("messages", ["rowid"]), ("calls", ["rowid"]),
        ("tries", ["rowid"]),
        ("folds", ["turn", "kind"]), ("events", ["rowid"]), ("stops", ["connection", "session", "interaction"]),
        ("settings", ["connection", "name"]),
    ]
    /// Rows per page. Between two pages the export holds no snapshot, so that a running bridge can empty its log.
    static let page = 50

    /// Gives every row as a JSON object on a line of its own, with the name of its table; values that are no UTF-8
    /// become `{"base64": …}`. The export contains everything said, including the user's messages, and cannot be
    /// imported. Each page of rows is of one moment; a bridge may write between two pages.
    package func export(_ line: (String) -> Void) throws(JournalFailure) {
        for table in Self.tables {
            var last: [Database.Value] = []
            while true {
                let rows = try reading { () throws(DatabaseError) -> [ExportedRow] in
                    try page(of: table.name, by: table.key, behind: last)
                }
                for row in rows { line(row.text) }
                guard rows.count == Self.page, let end = rows.last else { break }
                last = end.key
            }
        }
    }

    private struct ExportedRow {
        var key: [Database.Value]
        var text: String
    }

    private func page(
        of table: String, by key: [String], behind last: [Database.Value]
    ) throws(DatabaseError) -> [ExportedRow] {
        let keys = key.joined(separator: ", ")
        let marks = Array(repeating: "?", count: key.count).joined(separator: ", ")
        let condition = last.isEmpty ? "" : "WHERE (\(keys)) > (\(marks)) "
        var rows: [ExportedRow] = []
        // The key precedes the columns of the row.
        let query = "SELECT \(keys), \(table).* FROM \(table) \(condition)ORDER BY \(keys) LIMIT \(Self.page)"
        try database.rows(query, last) { row throws(DatabaseError) in
            let values = key.indices.map { column in
                row.type(column) == SQLITE_INTEGER
                    ? Database.Value.integer(row.integer(column)) : .text(row.text(column))
            }
            rows.append(ExportedRow(key: values, text: Self.object(of: row, table, from: key.count)))
        }
        return rows
    }

    private static func object(of row: Row, _ table: String, from first: Int) -> String {
        var text = #"{"table":"# + JSONText.string(table).text
        for column in first..<row.count {
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
