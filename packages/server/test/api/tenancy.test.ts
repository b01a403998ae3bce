import { test } from "../harness/service.ts";
import { describeTenancy } from "./tenancy.ts";

describeTenancy(test);
