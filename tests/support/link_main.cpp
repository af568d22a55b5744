// The main of every link test: the module's whole archive is linked in around it.
int main() { return 0; }
