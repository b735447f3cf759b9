// The door of the world room.
export { type NodeWorldOptions, nodeWorld, stderrLog } from "./node.js";
