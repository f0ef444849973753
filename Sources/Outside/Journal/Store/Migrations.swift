import CSQLite
import Vocabulary

/// The schema as numbered steps: each is applied once, in a transaction of its own, and never changed afterwards.
enum Migrations {
    /// "SOPH": the application id that distinguishes a journal from other SQLite files.
    static let application: Int64 = 0x534F_5048

    static let steps = [first, second, third, fourth]
    static var newest: Int { steps.count }

    /// The file's schema version. Throws for a file of a later version, and for a database of another program.
    static func version(of database: Database) throws(JournalFailure) -> Int {
        do throws(DatabaseError) {
            let version = Int(try database.integer("PRAGMA user_version") ?? 0)
            let application = try database.integer("PRAGMA application_id") ?? 0
            let tables = try database.integer("SELECT count(*) FROM sqlite_schema") ?? 0
            guard application == Self.application || (tables == 0 && version == 0) else {
                throw DatabaseError(
                    code: SQLITE_NOTADB, words: "it is a database of another program", path: database.path)
            }
            if version <= newest { return version }
        } catch { throw error.failure }
        throw JournalFailure(
            .newer,
            "\(database.path) was written by a later version of sophon-bridge; run that version, or move the file away")
    }

    static func apply(to database: Database) throws(JournalFailure) {
        let version = try version(of: database)
        do throws(DatabaseError) {
            for (index, step) in steps.enumerated().dropFirst(version) {
                try database.script(
                    "BEGIN IMMEDIATE; \(step) PRAGMA application_id = \(application); PRAGMA user_version = \(index + 1); COMMIT;"
                )
            }
        } catch {
            if database.isInTransaction { try? database.script("ROLLBACK") }
            throw error.failure
        }
    }

    /// The record of an open turn becomes its part 0, beside parts that are written once: records in the rows of
    /// `turns` left a page for each closed turn. An older record stays in `turns` until the next one; `record` is empty
    /// if part 0 has it.
    private static let fourth = """
        CREATE TABLE parts (
            place INTEGER PRIMARY KEY,  -- the number of the turn times 2^20, plus that of the part
            turn INTEGER NOT NULL,
            content BLOB NOT NULL
        );
        -- A foreign key would look through all parts for those of each turn that goes, or need an index.
        CREATE TRIGGER parts_of_turn AFTER DELETE ON turns BEGIN
            DELETE FROM parts WHERE place BETWEEN old.number * 1048576 AND old.number * 1048576 + 1048575;
        END;
        -- Of closed turns alone, whose calls have no bodies: else each call and each answer would write a page of this index.
        DROP INDEX undelivered_calls;
        CREATE INDEX undelivered_calls ON calls (turn) WHERE delivered = 0 AND end_offset IS NULL AND body IS NULL;
        """

    /// A stop gets the relay's time and its reach. An older stop has neither, and reaches every run.
    private static let third = """
        ALTER TABLE stops ADD COLUMN made INTEGER;
        ALTER TABLE stops ADD COLUMN own_runs_alone INTEGER;
        """

    /// The address of a turn's bubble gets columns beside the record, so that the bubble can be ended even if the
    /// record cannot be read. For older turns it comes from their messages and records.
    private static let second = """
        ALTER TABLE turns ADD COLUMN session TEXT;
        ALTER TABLE turns ADD COLUMN interaction TEXT;
        ALTER TABLE turns ADD COLUMN bubble TEXT;   -- NULL: there is none, or it is not known yet
        UPDATE turns SET bubble = json_extract(CAST(record AS TEXT), '$.content.lane.message'),
            session = json_extract(CAST(record AS TEXT), '$.content.turn.opening.session'),
            interaction = json_extract(CAST(record AS TEXT), '$.content.turn.opening.interaction')
        WHERE closed_at IS NULL AND record IS NOT NULL AND json_valid(CAST(record AS TEXT));
        UPDATE turns SET
            session = (SELECT session FROM messages WHERE turn = turns.number ORDER BY number LIMIT 1),
            interaction = (SELECT interaction FROM messages WHERE turn = turns.number ORDER BY number LIMIT 1)
        WHERE closed_at IS NULL AND session IS NULL;

        -- What is left of calls that are not worth a row each once their turn is closed: pieces of text, and progress.
        CREATE TABLE folds (
            turn INTEGER NOT NULL REFERENCES turns (number) ON DELETE CASCADE,
            kind TEXT NOT NULL,
            calls INTEGER NOT NULL,
            bytes INTEGER NOT NULL,
            retries INTEGER NOT NULL,
            result TEXT,            -- of the last try; NULL: there was none
            first_at INTEGER NOT NULL,
            last_at INTEGER NOT NULL,
            PRIMARY KEY (turn, kind)
        ) WITHOUT ROWID;
        -- Of a delivered call that was tried once, once its turn is closed: that try, which then has no row of its own.
        ALTER TABLE calls ADD COLUMN result TEXT;
        ALTER TABLE calls ADD COLUMN request TEXT;
        ALTER TABLE calls ADD COLUMN milliseconds INTEGER;
        ALTER TABLE calls ADD COLUMN tried_at INTEGER;
        -- Turns up to this number were closed before there were folds; they are folded when nothing else is to be done.
        INSERT INTO meta SELECT 'unfolded', coalesce(max(number), 0) FROM turns;
        """

    /// All times are milliseconds since 1970.
    private static let first = """
        -- A turn: one question and its answer. Numbers grow in the order in which turns were accepted or first kept.
        CREATE TABLE turns (
            number INTEGER PRIMARY KEY,
            connection TEXT NOT NULL,
            name TEXT NOT NULL,
            record BLOB,            -- what a restart goes on from; NULL before the first and after the end
            kept_at INTEGER NOT NULL,
            closed_at INTEGER,      -- NULL: it is open
            outcome TEXT,
            UNIQUE (connection, name)
        );
        CREATE INDEX open_turns ON turns (connection, number) WHERE closed_at IS NULL;
        CREATE INDEX closed_turns ON turns (connection, closed_at) WHERE closed_at IS NOT NULL;

        -- Messages of the user that were taken, so that none is taken twice.
        CREATE TABLE messages (
            number INTEGER PRIMARY KEY,
            connection TEXT NOT NULL,
            message TEXT NOT NULL,
            update_name TEXT NOT NULL,
            turn INTEGER NOT NULL REFERENCES turns (number) ON DELETE CASCADE,
            session TEXT NOT NULL,
            interaction TEXT,
            opening BLOB,           -- NULL once the turn is closed
            received_at INTEGER NOT NULL,
            UNIQUE (connection, message)
        );
        CREATE INDEX messages_of_turn ON messages (turn);

        -- Calls to the relay, kept before their first try with the very bytes that are sent.
        CREATE TABLE calls (
            number INTEGER PRIMARY KEY,
            turn INTEGER NOT NULL REFERENCES turns (number) ON DELETE CASCADE,
            key TEXT NOT NULL,
            name BLOB NOT NULL,     -- which post it is, as JSON
            path TEXT NOT NULL,
            body BLOB,              -- NULL once the turn is closed
            end_offset INTEGER,     -- of a piece of text: where it ends in the streamed text
            kept_at INTEGER NOT NULL,
            delivered INTEGER NOT NULL DEFAULT 0,
            UNIQUE (turn, key)
        );
        CREATE INDEX undelivered_calls ON calls (turn) WHERE delivered = 0 AND end_offset IS NULL;
        CREATE INDEX cards ON calls (number) WHERE path = '/v1/bridge/createTask';

        -- What each try came to. Calls that are not kept have tries too.
        CREATE TABLE tries (
            number INTEGER PRIMARY KEY,
            turn INTEGER NOT NULL REFERENCES turns (number) ON DELETE CASCADE,
            key TEXT NOT NULL,
            attempt INTEGER NOT NULL,
            result TEXT NOT NULL,
            delivered INTEGER NOT NULL,
            request TEXT,           -- the relay's name for it
            milliseconds INTEGER NOT NULL,
            tried_at INTEGER NOT NULL
        );
        CREATE INDEX tries_of_turn ON tries (turn, key);

        -- What else happened to a turn, in constant words.
        CREATE TABLE events (
            number INTEGER PRIMARY KEY,
            turn INTEGER NOT NULL REFERENCES turns (number) ON DELETE CASCADE,
            words TEXT NOT NULL,
            happened_at INTEGER NOT NULL
        );
        CREATE INDEX events_of_turn ON events (turn);

        -- Stops, which may overtake the message they are for.
        CREATE TABLE stops (
            connection TEXT NOT NULL,
            session TEXT NOT NULL,
            interaction TEXT NOT NULL,
            asked_at INTEGER NOT NULL,
            PRIMARY KEY (connection, session, interaction)
        ) WITHOUT ROWID;
        CREATE INDEX stops_in_time ON stops (connection, asked_at);

        -- What the agent's side must know again after a restart.
        CREATE TABLE settings (
            connection TEXT NOT NULL,
            name TEXT NOT NULL,
            value BLOB NOT NULL,
            PRIMARY KEY (connection, name)
        ) WITHOUT ROWID;

        -- Of the file itself. 'barrier' changes when something written earlier must now survive a power cut.
        CREATE TABLE meta (
            name TEXT PRIMARY KEY,
            value INTEGER NOT NULL
        ) WITHOUT ROWID;
        INSERT INTO meta VALUES ('barrier', 0);
        """
}
