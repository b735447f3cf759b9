// Requirements of several nodes: G73x to G76x what is in PostgreSQL, G77x clients of one node in sessions of another, G79x nodes that are gone, G82x faults.

export const NODE_REQUIREMENTS = [
  // G730 to G749: sessions in PostgreSQL.
  {
    id: "G730",
    text: "tests, benchmarks and chaos have a PostgreSQL of their own, on a socket, as a user that is not root, of which nothing is left",
  },
  {
    id: "G731",
    text: "tables are made by numbered steps, each once and whole, by one of several nodes; those of a newer Tenon and changed ones are refused and left alone",
  },
  {
    id: "G732",
    text: "a wrong address, password, database or right, a read-only database and one without TLS each say what was tried and what to do, without the password",
  },
  { id: "G733", text: "sessions in PostgreSQL keep the same contract as sessions in files" },
  {
    id: "G734",
    text: "an append whose connection broke is settled by reading owner, epoch and last number: it is there once, whether it was committed or not",
  },
  {
    id: "G735",
    text: "an append whose answer took longer than a third of the lease counts only after owner and epoch were read again",
  },
  {
    id: "G736",
    text: "a restart of the database in the middle of appends costs no record and doubles none",
  },
  {
    id: "G737",
    text: "while the database is away appends wait and people are told; after two thirds of the lease by the monotonic clock the node owns nothing, and starts anew under another id",
  },
  {
    id: "G738",
    text: "open turns of a node that is gone are taken over once, under a higher epoch; its own appends are refused; those left in a drain are free at once and do not count as a try",
  },
  {
    id: "G739",
    text: "texts with NUL and lines of megabytes are kept, and stop a node for less than its lease; a full database makes appends wait; values it does not take, and a row that somebody keeps locked, cost only their own session",
  },
  // G750 to G769: what gateways that share a database keep there.
  {
    id: "G750",
    text: "tokens are in the database as hashes: one made or revoked at a node counts at every node within a second, and nothing changes while the database is away",
  },
  { id: "G751", text: "changes of tokens that several nodes make at once are all kept" },
  {
    id: "G752",
    text: "a pairing code of one node is good at any other, once; wrong tries anywhere make it void; the database's clock counts",
  },
  { id: "G753", text: "the keys of clients are good at every node that shares the database" },
  {
    id: "G754",
    text: "approvals are in the database by account, project, program, definition and command; other accounts and projects have none of them, and what cannot be read is reported",
  },
  {
    id: "G755",
    text: "kept results are in the database in parts of at most 1 MB, byte for byte, for the next owner too; an owner that was superseded keeps nothing more, and a database that is away for a moment costs nothing",
  },
  {
    id: "G756",
    text: "a database that cannot be used ends tenon gateway with exit code 3, what was tried and what to do, never with the password, and leaves no table by halves: wrong address, password, database, rights, newer or changed tables, read-only, full",
  },
  {
    id: "G757",
    text: "tenon gateway run --store warns of a password in the list of processes; TENON_GATEWAY_STORE does not show it, and no session, server or log gets to see it; a local gateway stays on files",
  },
  { id: "G758", text: "tenon gateway token works on the tokens of the database, whether a gateway runs or not" },
  {
    id: "G759",
    text: "a gateway on a database is ready while the database can be reached and its lease is held, and says so at /readyz",
  },
  // G795 to G819: nodes that are gone, drain, or have no database.
  {
    id: "G795",
    text: "a node that is cut off from the database seals its sessions, tells their clients to connect again, is not ready, and refuses requests with store.unavailable until it is registered under another id",
  },
  {
    id: "G796",
    text: "an open turn of a node whose lease is over goes on at another node; a call that was sent is not sent again, and has one outcome",
  },
  {
    id: "G797",
    text: "a node that drains hands its turns over as they are, within a second where no call is under way; that is no attempt",
  },
  {
    id: "G798",
    text: "after a takeover the model is told with the first result, and the person by a notice, that servers were started again",
  },
  { id: "G799", text: "clients of a node that drains are told to connect again, and resume at another one" },
  {
    id: "G800",
    text: "a turn that owners went on with three times in a row, or that six owners in a row took over, without an outcome or an answer of the model, ends with session.gave_up; the next turn counts anew",
  },
  {
    id: "G801",
    text: "what a superseded owner appends is refused; takeovers, refused appends, appends and the lease are in /metrics",
  },
  {
    id: "G802",
    text: "a session is taken over only by a node that has its folder below its roots; until there is one it waits, and who opens it is told the folder and the roots",
  },
  {
    id: "G803",
    text: "a restart of the database costs a turn nothing; while the database is away for longer clients are told, and open turns go on when it is back",
  },
  {
    id: "G804",
    text: "a node that is killed with SIGKILL costs its clients no record and shows them none twice, whether they were at that node or at another one",
  },
  {
    id: "G805",
    text: "a node that was frozen for longer than its lease makes no call and writes no record of the sessions it had, and is ready again by itself",
  },
  {
    id: "G806",
    text: "a node that drains begins no call; those that were sent may end for 2 seconds, and are unknown to the next owner otherwise; servers of a client are back when it resumes",
  },
  // G820 to G839: several nodes under faults, and how they are run.
  {
    id: "G820",
    text: "the files of deploy/ are what their programs take: compose.yaml, the Dockerfile and the units name commands and options that exist, and no password",
  },
  // G770 to G794: clients of one node in sessions of another.
  {
    id: "G770",
    text: "a client of another node gets every record of a session once and in order, the same updates as a client of the owner's node: on load, on resume and live",
  },
  {
    id: "G771",
    text: "a client of another node prompts in a session; the answer comes after all updates of its turn, and its own words are not shown to it",
  },
  {
    id: "G772",
    text: "questions and their withdrawal, client tools with progress, and files reach clients of other nodes; a message above 8 MB is refused in words, as a tool error where it is a tool",
  },
  {
    id: "G773",
    text: "a session is found wherever it is, by id, label or as the latest; one that nobody owns is opened where the roots allow its folder, and refused in words where no living node's do",
  },
  {
    id: "G774",
    text: "the end of a link at either side ends the other; a link that breaks, by its node's end, a lost message or the database, ends the client's connection with 1012, and the client goes on at another node",
  },
  {
    id: "G775",
    text: "whatever the order and delay of messages between nodes, and with any hint lost, every client has every record once and in order, the same at every node",
  },
  {
    id: "G776",
    text: "messages between nodes arrive once and in order on each link; a take whose commit is unknown, and a node that is gone, break the links that they concern; hints come back after their connection broke; no message is left",
  },
  {
    id: "G777",
    text: "the status has the nodes and their leases, lists have the state of sessions elsewhere, and watching tells of the sessions of all nodes, also of those that come later",
  },
  {
    id: "G778",
    text: "a client with several addresses tries the next one when one does not answer or drains, and goes on there without a gap, a repeat or a second prompt",
  },
  {
    id: "G779",
    text: "the page of one node shows all nodes and their leases, and has the questions of all nodes among its approvals",
  },
  {
    id: "G780",
    text: "a client that joins once more a session of another node which it follows is shown no record between its request and the answer but those of the join, however late its node reads them; when it cannot join, it goes on where it was",
  },
  {
    id: "G781",
    text: "records that are asked for in one moment, of any sessions and accounts, are read in one statement within one bound of bytes; each reader gets its own records, and a session that is not there fails alone",
  },
  {
    id: "G782",
    text: "a session whose owner's lease ends in the moment in which another node asks for it is opened there",
  },
  {
    id: "G783",
    text: "a node that was cut off from the database does not wait for the connections of before, which may stay silent: what was asked on them fails with the lease, and what is asked next is answered on new ones",
  },
] as const;
