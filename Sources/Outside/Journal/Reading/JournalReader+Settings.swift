package import Vocabulary

extension JournalReader {
    /// Settings of all connections, in order of connection and name.
    package func settings() throws(JournalFailure) -> [(connection: ConnectionName, name: String, value: [UInt8])] {
        try reading { () throws(DatabaseError) in
            var settings: [(connection: ConnectionName, name: String, value: [UInt8])] = []
            try database.rows("SELECT connection, name, value FROM settings ORDER BY connection, name") {
                row throws(DatabaseError) in
                settings.append((ConnectionName(row.text(0)), row.text(1), row.bytes(2)))
            }
            return settings
        }
    }
}
