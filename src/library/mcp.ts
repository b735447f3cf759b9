// `tenon/mcp`: one server by hand.
export { type ConnectedServer, type ConnectOptions, connect } from "./connect.js";
