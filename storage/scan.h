struct scan;
void storage_scan_free(struct scan *scan);
