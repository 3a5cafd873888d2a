import { poolProject } from "../../.config/pool-project.ts";

export default poolProject("consumer");
