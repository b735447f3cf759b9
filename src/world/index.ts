// The door of the world room.
export { type NodeWorldOptions, nodeWorld } from "./node.js";
